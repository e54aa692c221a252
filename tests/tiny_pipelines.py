"""Tiny pipelines with random weights and tokenizers of their own, made offline and written as from_pretrained reads them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from diffusers import (
    AutoencoderKL,
    AutoencoderKLFlux2,
    EulerAncestralDiscreteScheduler,
    FlowMatchEulerDiscreteScheduler,
    Flux2KleinPipeline,
    Flux2Transformer2DModel,
    FluxPipeline,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusion3Pipeline,
    StableDiffusionXLPipeline,
    UNet2DConditionModel,
)
from tokenizers import pre_tokenizers
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    Qwen2Tokenizer,
    Qwen3Config,
    Qwen3ForCausalLM,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

ALPHABET = sorted(pre_tokenizers.ByteLevel.alphabet())
CHAT = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WIDTH = 32  # of all text embeddings
VAE = {
    "sample_size": 32,
    "block_out_channels": (4, 8),
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "layers_per_block": 1,
    "norm_num_groups": 2,
}


def clip_tokenizer() -> CLIPTokenizer:
    """One token a character."""
    tokens = ["<|startoftext|>", "<|endoftext|>", *ALPHABET, *(letter + "</w>" for letter in ALPHABET)]
    return CLIPTokenizer(vocab={token: i for i, token in enumerate(tokens)}, merges=[], model_max_length=77)


def t5_tokenizer() -> T5TokenizerFast:
    """One token a character of ASCII."""
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -10.0), ("\u2581", -2.0)]
    vocab += [(chr(code), -3.0) for code in range(33, 127)]
    return T5TokenizerFast(vocab=vocab, extra_ids=0, model_max_length=512)


def qwen_tokenizer() -> Qwen2Tokenizer:
    """One token a byte, and the chat marks."""
    tokenizer = Qwen2Tokenizer(
        vocab={token: i for i, token in enumerate(ALPHABET)},
        merges=[],
        unk_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def _clip(cls: type, tokenizer: CLIPTokenizer):
    return cls(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=37,
            num_hidden_layers=2,
            num_attention_heads=4,
            projection_dim=WIDTH,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )


def _t5(tokenizer: T5TokenizerFast, width: int = WIDTH) -> T5EncoderModel:
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=width,
        d_kv=8,
        d_ff=37,
        num_layers=2,
        num_heads=4,
        feed_forward_proj="gated-gelu",
    )
    return T5EncoderModel(config)


def flux() -> FluxPipeline:
    """Two double and three single blocks; sizes divide by 4."""
    clip, t5 = clip_tokenizer(), t5_tokenizer()
    return FluxPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0),
        vae=AutoencoderKL(
            **VAE,
            latent_channels=4,
            use_quant_conv=False,
            use_post_quant_conv=False,
            shift_factor=0.1,
            scaling_factor=0.4,
        ),
        text_encoder=_clip(CLIPTextModel, clip),
        tokenizer=clip,
        text_encoder_2=_t5(t5),
        tokenizer_2=t5,
        transformer=FluxTransformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=2,
            num_single_layers=3,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=WIDTH,
            pooled_projection_dim=WIDTH,
            axes_dims_rope=(4, 4, 8),
            guidance_embeds=True,
        ),
    )


def klein(heads: int = 2) -> Flux2KleinPipeline:
    """FLUX.2: two double and three single blocks, a Qwen3 text encoder; sizes divide by 4."""
    tokenizer = qwen_tokenizer()
    return Flux2KleinPipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True, shift=3.0),
        vae=AutoencoderKLFlux2(**VAE, latent_channels=4),
        text_encoder=Qwen3ForCausalLM(
            Qwen3Config(
                vocab_size=len(tokenizer),
                hidden_size=16,
                intermediate_size=16,
                num_hidden_layers=28,  # the pipeline reads layers 9, 18 and 27
                num_attention_heads=2,
                num_key_value_heads=2,
                head_dim=8,
                tie_word_embeddings=True,
            )
        ),
        tokenizer=tokenizer,
        transformer=Flux2Transformer2DModel(
            patch_size=1,
            in_channels=16,
            num_layers=2,
            num_single_layers=3,
            attention_head_dim=16,
            num_attention_heads=heads,
            joint_attention_dim=3 * 16,
            timestep_guidance_channels=256,
            axes_dims_rope=(4, 4, 4, 4),
            guidance_embeds=False,
        ),
    )


def sdxl() -> StableDiffusionXLPipeline:
    """A UNet with cross-attention at both levels, the ancestral sampler of SDXL-Turbo; sizes divide by 8."""
    first, second = clip_tokenizer(), clip_tokenizer()
    return StableDiffusionXLPipeline(
        scheduler=EulerAncestralDiscreteScheduler(timestep_spacing="trailing"),
        vae=AutoencoderKL(**VAE, latent_channels=4),
        text_encoder=_clip(CLIPTextModel, first),
        tokenizer=first,
        text_encoder_2=_clip(CLIPTextModelWithProjection, second),
        tokenizer_2=second,
        unet=UNet2DConditionModel(
            sample_size=32,
            block_out_channels=(16, 32),
            layers_per_block=1,
            down_block_types=("CrossAttnDownBlock2D",) * 2,
            up_block_types=("CrossAttnUpBlock2D",) * 2,
            attention_head_dim=(2, 4),
            norm_num_groups=8,
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=WIDTH + 6 * 8,
            cross_attention_dim=2 * WIDTH,
        ),
    )


def sd3() -> StableDiffusion3Pipeline:
    """Three joint blocks, of which the last is another; three text encoders; sizes divide by 4."""
    first, second, t5 = clip_tokenizer(), clip_tokenizer(), t5_tokenizer()
    return StableDiffusion3Pipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=AutoencoderKL(**VAE, latent_channels=4, use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.1),
        text_encoder=_clip(CLIPTextModelWithProjection, first),
        tokenizer=first,
        text_encoder_2=_clip(CLIPTextModelWithProjection, second),
        tokenizer_2=second,
        text_encoder_3=_t5(t5, 2 * WIDTH),  # the embeddings of both CLIPs side by side are padded to its width
        tokenizer_3=t5,
        transformer=SD3Transformer2DModel(
            sample_size=32,
            patch_size=2,
            in_channels=4,
            out_channels=4,
            num_layers=3,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_projection_dim=32,
            joint_attention_dim=2 * WIDTH,
            pooled_projection_dim=2 * WIDTH,
            pos_embed_max_size=32,
        ),
    )


def klein_with_4_heads() -> Flux2KleinPipeline:
    """For four devices to share."""
    return klein(4)


PIPELINES: dict[str, Callable] = {
    "flux": flux, "klein": klein, "klein-4-heads": klein_with_4_heads, "sdxl": sdxl, "sd3": sd3,
}  # fmt: skip


def write(name: str, folder: Path) -> Path:
    """Saves the pipeline `name` below `folder`, always with the same weights."""
    torch.manual_seed(0)
    path = folder / name
    PIPELINES[name]().save_pretrained(path)
    return path
