"""An attention processor for devices whose compiler keeps the memory layout of eager mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from diffusers.models.attention_processor import Attention, AttnProcessor, AttnProcessor2_0

if TYPE_CHECKING:
    import torch
    from diffusers import DiffusionPipeline


class ContiguousAttnProcessor(AttnProcessor):
    """`AttnProcessor` with a contiguous result.

    In a VAE, or a UNet without linear projections, attention takes and gives pictures: the result is a transposed
    view, and torch_tpu refuses the group norm that comes next ("view(): cannot create a view ... channels-last").
    """

    # The names of AttnProcessor's own arguments: diffusers drops those that a processor does not name.
    def __call__(
        self,
        attn: Attention,
        hidden_states: torch.Tensor,
        encoder_hidden_states: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        temb: torch.Tensor | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> torch.Tensor:
        result = super().__call__(attn, hidden_states, encoder_hidden_states, attention_mask, temb, *args, **kwargs)
        return result.contiguous()


def use_contiguous_attention(pipeline: DiffusionPipeline) -> None:
    """Puts :class:`ContiguousAttnProcessor` in the place of AttnProcessor2_0, which is the default of UNets and VAEs.

    Nothing else is replaced: the processors of FLUX and Stable Diffusion 3 transformers do more than attention, and
    AttnProcessor would break them.
    """
    for component in pipeline.components.values():
        processors = getattr(component, "attn_processors", None) or {}
        if any(type(processor) is AttnProcessor2_0 for processor in processors.values()):
            component.set_attn_processor(
                {
                    name: ContiguousAttnProcessor() if type(processor) is AttnProcessor2_0 else processor
                    for name, processor in processors.items()
                }
            )
