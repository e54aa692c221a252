"""The trained part: a miniature FluxTransformer2DModel with its two text encoders, trained together."""

from __future__ import annotations

import torch
from diffusers import FluxTransformer2DModel
from torch import nn
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTokenizer,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

from .config import FORMATS, LATENT_CHANNELS, TEXT_LENGTH, TOKEN_FACTOR
from .reading import Reader

CLIP_WIDTH, T5_WIDTH = 96, 128


class TinyFlux(nn.Module):
    """Everything that turns token ids, a noisy picture and a time into a velocity."""

    def __init__(self, clip_tokenizer: CLIPTokenizer, t5_tokenizer: T5TokenizerFast) -> None:
        super().__init__()
        self.clip = CLIPTextModel(_clip_config(clip_tokenizer))
        self.t5 = T5EncoderModel(_t5_config(t5_tokenizer))
        self.transformer = FluxTransformer2DModel(
            patch_size=1,
            in_channels=4 * LATENT_CHANNELS,
            num_layers=1,
            num_single_layers=7,
            attention_head_dim=32,
            num_attention_heads=6,
            joint_attention_dim=T5_WIDTH,
            pooled_projection_dim=CLIP_WIDTH,
            guidance_embeds=False,
            axes_dims_rope=(8, 12, 12),
        )
        _start_as_identity(self.transformer)
        self.reader = Reader(T5_WIDTH)  # for the training alone
        self.register_buffer("text_positions", torch.zeros(TEXT_LENGTH, 3), persistent=False)

    def encode(self, clip_ids: torch.Tensor, t5_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The words one by one (T5) and the prompt as a whole (CLIP)."""
        return self.t5(input_ids=t5_ids)[0], self.clip(input_ids=clip_ids).pooler_output

    def read(self, t5_ids: torch.Tensor) -> list[torch.Tensor]:
        """The reader's scores of what captions say."""
        return self.reader(self.t5(input_ids=t5_ids)[0], t5_ids != self.t5.config.pad_token_id)

    def velocity(
        self,
        noisy: torch.Tensor,
        time: torch.Tensor,
        text: tuple[torch.Tensor, torch.Tensor],
        positions: torch.Tensor,
    ) -> torch.Tensor:
        words, prompt = text
        return self.transformer(
            hidden_states=noisy,
            encoder_hidden_states=words,
            pooled_projections=prompt,
            timestep=time,
            img_ids=positions,
            txt_ids=self.text_positions,
            return_dict=False,
        )[0]

    def forward(
        self,
        noisy: torch.Tensor,
        time: torch.Tensor,
        clip_ids: torch.Tensor,
        t5_ids: torch.Tensor,
        positions: torch.Tensor,
    ) -> torch.Tensor:
        return self.velocity(noisy, time, self.encode(clip_ids, t5_ids), positions)


def token_positions(format_name: str) -> torch.Tensor:
    """Row and column of every picture token, as FluxPipeline numbers them."""
    width, height = FORMATS[format_name]
    rows, columns = height // TOKEN_FACTOR, width // TOKEN_FACTOR
    positions = torch.zeros(rows, columns, 3)
    positions[..., 1] += torch.arange(rows)[:, None]
    positions[..., 2] += torch.arange(columns)[None, :]
    return positions.reshape(rows * columns, 3)


def pack(latents: torch.Tensor) -> torch.Tensor:
    """Latents (n, channels, h, w) as tokens of 2x2 cells, in FluxPipeline's order."""
    count, channels, height, width = latents.shape
    cells = latents.view(count, channels, height // 2, 2, width // 2, 2).permute(0, 2, 4, 1, 3, 5)
    return cells.reshape(count, (height // 2) * (width // 2), channels * 4)


def _start_as_identity(transformer: FluxTransformer2DModel) -> None:
    """Zero the modulations and the output: the blocks change nothing at first (DiT's adaLN-zero)."""
    for module in transformer.modules():
        if type(module).__name__ in ("AdaLayerNormZero", "AdaLayerNormZeroSingle", "AdaLayerNormContinuous"):
            nn.init.zeros_(module.linear.weight)
            nn.init.zeros_(module.linear.bias)
    nn.init.zeros_(transformer.proj_out.weight)
    nn.init.zeros_(transformer.proj_out.bias)


def _clip_config(tokenizer: CLIPTokenizer) -> CLIPTextConfig:
    return CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=CLIP_WIDTH,
        intermediate_size=256,
        projection_dim=CLIP_WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=TEXT_LENGTH,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
        hidden_act="gelu",
        attn_implementation="eager",
    )


def _t5_config(tokenizer: T5TokenizerFast) -> T5Config:
    return T5Config(
        vocab_size=len(tokenizer),
        d_model=T5_WIDTH,
        d_kv=32,
        d_ff=320,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
        dropout_rate=0.0,
        relative_attention_num_buckets=32,
        relative_attention_max_distance=48,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        is_encoder_decoder=False,
        use_cache=False,
    )
