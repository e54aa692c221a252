"""FLUX.2-klein-4B and FLUX.1-schnell from their public configs, with random weights: speed does not depend on the values.

Sources, read in November 2026 (mirrors of the files in the models' own repositories):
klein transformer   huggingface.co/YuCollection/FLUX.2-klein-base-4B-Diffusers, transformer/config.json
klein VAE           huggingface.co/deAPI-ai/flux-2-klein-4b-bf16, vae/config.json
schnell transformer huggingface.co/rupeshs/FLUX.1-schnell-openvino-int4, transformer/config.json
schnell VAE         huggingface.co/frankjoshua/FLUX.1-schnell, vae/config.json
Built from them, both transformers have the number of bytes that `accel_ui.catalogue` has from the published weights;
a test holds the two together.

The text encoders have the width that the transformer expects and hardly any layers: their time is not measured here.
"""

from __future__ import annotations

from typing import Any

import torch
from diffusers import (
    AutoencoderKL,
    AutoencoderKLFlux2,
    DiffusionPipeline,
    FlowMatchEulerDiscreteScheduler,
    Flux2KleinPipeline,
    Flux2Transformer2DModel,
    FluxPipeline,
    FluxTransformer2DModel,
)
from transformers import CLIPTextConfig, CLIPTextModel, Qwen3Config, Qwen3ForCausalLM, T5Config, T5EncoderModel

from tests.tiny_pipelines import clip_tokenizer, qwen_tokenizer, t5_tokenizer

KLEIN, SCHNELL = "black-forest-labs/FLUX.2-klein-4B", "black-forest-labs/FLUX.1-schnell"
TRANSFORMERS: dict[str, dict[str, Any]] = {
    KLEIN: {
        "attention_head_dim": 128,
        "axes_dims_rope": (32, 32, 32, 32),
        "guidance_embeds": False,
        "in_channels": 128,
        "joint_attention_dim": 7680,
        "mlp_ratio": 3.0,
        "num_attention_heads": 24,
        "num_layers": 5,
        "num_single_layers": 20,
        "patch_size": 1,
        "rope_theta": 2000,
        "timestep_guidance_channels": 256,
    },
    SCHNELL: {
        "attention_head_dim": 128,
        "axes_dims_rope": (16, 56, 56),
        "guidance_embeds": False,
        "in_channels": 64,
        "joint_attention_dim": 4096,
        "num_attention_heads": 24,
        "num_layers": 19,
        "num_single_layers": 38,
        "patch_size": 1,
        "pooled_projection_dim": 768,
    },
}
VAE = {
    "block_out_channels": (128, 256, 512, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "layers_per_block": 2,
    "norm_num_groups": 32,
    "sample_size": 1024,
}
SCHNELL_VAE = {
    "latent_channels": 16,
    "scaling_factor": 0.3611,
    "shift_factor": 0.1159,
    "use_quant_conv": False,
    "use_post_quant_conv": False,
}
# To try the script where there is no GPU: one block of each kind, two heads, a narrow VAE.
SMALL = {"num_layers": 1, "num_single_layers": 1, "num_attention_heads": 2}
SMALL_VAE = {"block_out_channels": (32, 32, 32, 32)}


def build_transformer(model: str, *, small: bool = False) -> torch.nn.Module:
    """The denoiser of `model`, on the current default device and in the default dtype."""
    cls = Flux2Transformer2DModel if model == KLEIN else FluxTransformer2DModel
    return cls(**TRANSFORMERS[model] | (SMALL if small else {}))


def build(model: str, device: str, *, small: bool = False) -> DiffusionPipeline:
    """The whole pipeline in bfloat16 on `device`, always with the same weights."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            transformer, vae = build_transformer(model, small=small), VAE | (SMALL_VAE if small else {})
            pipe = _klein(transformer, vae) if model == KLEIN else _schnell(transformer, vae)
    finally:
        torch.set_default_dtype(torch.float32)
    for name, part in pipe.components.items():
        if isinstance(part, torch.nn.Module):
            part.eval().requires_grad_(False)
            if name.startswith("text_encoder"):
                part.to(torch.bfloat16)
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(device)


def _klein(transformer: torch.nn.Module, vae: dict[str, Any]) -> Flux2KleinPipeline:
    tokenizer = qwen_tokenizer()
    encoder = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=transformer.config.joint_attention_dim // 3,
        intermediate_size=64,
        num_hidden_layers=28,  # the pipeline reads layers 9, 18 and 27
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        tie_word_embeddings=True,
    )
    return Flux2KleinPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0),
        vae=AutoencoderKLFlux2(**vae, latent_channels=32),
        text_encoder=Qwen3ForCausalLM(encoder),
        tokenizer=tokenizer,
        transformer=transformer,
        is_distilled=True,
    )


def _schnell(transformer: torch.nn.Module, vae: dict[str, Any]) -> FluxPipeline:
    clip, t5 = clip_tokenizer(), t5_tokenizer()
    pooled = CLIPTextConfig(
        vocab_size=len(clip),
        hidden_size=transformer.config.pooled_projection_dim,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    tokens = T5Config(
        vocab_size=len(t5),
        d_model=transformer.config.joint_attention_dim,
        d_kv=64,
        d_ff=64,
        num_layers=1,
        num_heads=2,
        feed_forward_proj="gated-gelu",
    )
    return FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=1.0),
        vae=AutoencoderKL(**vae, **SCHNELL_VAE),
        text_encoder=CLIPTextModel(pooled),
        tokenizer=clip,
        text_encoder_2=T5EncoderModel(tokens),
        tokenizer_2=t5,
        transformer=transformer,
    )
