"""How the embedded model is made: a real FluxPipeline in miniature, trained on a procedural world."""
