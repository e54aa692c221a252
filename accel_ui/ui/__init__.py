"""The Gradio page and the HTTP API. Handlers only translate between Gradio and the manager's events."""
