"""``tisim generate llm`` and ``inference``: graphs of language models."""

from __future__ import annotations

from typing import get_args

import click

from tisim.commands import report_written, trace_option
from tisim.gpu.llm import MODELS, Attention, Layout, Recompute, Schedule, read_model, write_step
from tisim.gpu.llm_inference import Serving, serving_memory, write_inference
from tisim.gpu.llm_memory import check_fit, check_memory
from tisim.gpu.machines import GPUS
from tisim.gpu.step_graph import DTYPES
from tisim.traces.graph_files import write_graph

_COUNT = click.IntRange(1, 1 << 20)
_MEMORY_CHECK = click.option(
    "--memory-check/--no-memory-check", default=True, show_default=True,
    help="Refuse a model that does not fit into GPU memory.",
)  # fmt: skip
_TENSOR = click.option("--tp", "tensor", type=_COUNT, default=1, show_default=True,
                       help="Tensor parallelism: GPUs that share a matrix.")  # fmt: skip
_OUTPUT = trace_option("FILE", "Graph to write; packed if the name ends in .tit.")


@click.command(
    "llm",
    epilog="""\b
Examples:
  tisim generate llm --model gpt3-175b --tp 8 --pp 8 --dp 16 --global-batch 1536 --zero 1 \\
      -o 175b.graph
  tisim generate llm --model llama3-70b --tp 8 --pp 4 --dp 32 --global-batch 1024 \\
      --schedule interleaved --chunks 5 --sequence-parallel --zero 1 -o 70b.graph
  tisim generate llm --model mixtral-8x7b --tp 2 --pp 2 --dp 16 --ep 8 --cp 2 --zero 1 \\
      --sequence-parallel --global-batch 512 --schedule zero-bubble -o 8x7b.graph
  tisim step 175b.graph --machine h100 --breakdown
""",
)
@click.option(
    "--model",
    required=True,
    metavar="NAME|FILE.toml",
    help=f"One of {', '.join(MODELS)}, or a TOML file with layers, hidden, heads, ffn, vocab, "
    "sequence and, optionally, kv_heads, gated, experts, top_k.",
)
@_TENSOR
@click.option("--pp", "pipeline", type=_COUNT, default=1, show_default=True,
              help="Pipeline parallelism: number of stages.")  # fmt: skip
@click.option("--dp", "data", type=_COUNT, default=1, show_default=True,
              help="Data parallelism: copies of the model.")  # fmt: skip
@click.option("--cp", "context", type=_COUNT, default=1, show_default=True,
              help="Context parallelism: GPUs that share each sequence.")  # fmt: skip
@click.option("--ep", "expert", type=_COUNT, default=1, show_default=True,
              help="Expert parallelism: GPUs among --dp and --cp that share the "
                   "experts.")  # fmt: skip
@click.option("--micro-batch", type=_COUNT, default=1, show_default=True,
              help="Sequences per micro-batch.")  # fmt: skip
@click.option("--global-batch", type=_COUNT, required=True, help="Sequences per step.")
@click.option(
    "--schedule", type=click.Choice(get_args(Schedule)), default="1f1b", show_default=True,
    help="Order of micro-batches in the pipeline.",
)  # fmt: skip
@click.option(
    "--chunks", type=_COUNT, default=1, show_default=True,
    help="Chunks per stage in the interleaved schedule.",
)  # fmt: skip
@click.option(
    "--zero", type=click.IntRange(0, 3), default=0, show_default=True,
    help="ZeRO stage: what copies shard: 1 the optimizer state, 2 also gradients, 3 also "
         "parameters.",
)  # fmt: skip
@click.option(
    "--recompute", type=click.Choice(get_args(Recompute)), default="none", show_default=True,
    help="Recomputation in the backward pass: none, core attention (selective), or whole layers "
         "(full).",
)  # fmt: skip
@click.option(
    "--sequence-parallel",
    is_flag=True,
    help="Also split along the sequence among the GPUs of --tp.",
)
@click.option("--dtype", type=click.Choice(DTYPES), default="bf16", show_default=True,
              help="Data type of matrices.")  # fmt: skip
@click.option(
    "--attention", type=click.Choice(get_args(Attention)), default="flash", show_default=True,
    help="Attention in one kernel (flash), or matrix by matrix with dropout (standard).",
)  # fmt: skip
@click.option("--overlap-gradients", is_flag=True,
              help="Overlap the reduction of a layer's gradients with the backward pass of other "
                   "layers.")  # fmt: skip
@click.option("--overlap-tensor", is_flag=True,
              help="Overlap the reductions of --tp in the backward pass with the computation of "
                   "gradients.")  # fmt: skip
@click.option("--fp16-gradients", is_flag=True, help="Reduce gradients as 16-bit numbers.")
@click.option("--gpu", type=click.Choice(list(GPUS)), default="a100", show_default=True,
              help="GPU whose memory size is checked.")  # fmt: skip
@_MEMORY_CHECK
@_OUTPUT
def llm_command(
    model: str, fp16_gradients: bool, gpu: str, memory_check: bool, output: str, **divided: object
) -> None:
    """Write the training step of a large language model as a graph for tisim step.

    Forward pass, backward pass, optimizer and the placement of collectives follow Megatron-LM.
    Kernels are described by shapes and bytes, so the graph does not depend on the machine.
    """
    layout = Layout(**divided, fp32_gradients=not fp16_gradients)  # type: ignore[arg-type]
    described = read_model(model)
    text = write_step(described, layout)
    if memory_check:
        check_memory(described, layout, GPUS[gpu].memory, gpu)
    write_graph(output, text)
    click.echo(
        f"{output}: {described.name}, {described.parameters / 1e9:.4g} billion parameters, "
        f"{layout.ranks:,} GPUs, {layout.micro_batches:,} micro-batches"
    )
    report_written(output)


@click.command(
    "inference",
    epilog="""\b
Examples:
  tisim generate inference --model llama3-70b --tp 8 --batch 32 --prompt 1024 --tokens 256 \\
      --gpu h100 -o 70b.graph
  tisim step 70b.graph --machine h100 --set launch=0 --breakdown   # CUDA graphs: no launches
""",
)
@click.option(
    "--model", required=True, metavar="NAME|FILE.toml", help=f"One of {', '.join(MODELS)}, or a "
                                                             "TOML file (see tisim generate llm).",
)  # fmt: skip
@_TENSOR
@click.option("--pp", "stages", type=_COUNT, default=1, show_default=True,
              help="Pipeline parallelism: number of stages; the batch is split into as many "
                   "parts.")  # fmt: skip
@click.option("--chunk", type=_COUNT, help="Prompt tokens processed at once (default: all).")
@click.option("--transfer", "transfers", is_flag=True,
              help="Decode on as many other GPUs; keys and values are transferred layer by "
                   "layer.")  # fmt: skip
@click.option("--batch", type=_COUNT, default=1, show_default=True, help="Sequences per batch.")
@click.option("--prompt", type=_COUNT, default=1024, show_default=True, help="Tokens per prompt.")
@click.option("--tokens", type=_COUNT, default=128, show_default=True,
              help="Tokens generated per prompt.")  # fmt: skip
@click.option("--dtype", type=click.Choice(DTYPES), default="bf16", show_default=True,
              help="Data type of matrices; keys and values have 16 bits.")  # fmt: skip
@click.option("--gpu", type=click.Choice(list(GPUS)), default="h100", show_default=True,
              help="GPU whose memory size is checked.")  # fmt: skip
@_MEMORY_CHECK
@_OUTPUT
def inference_command(
    model: str, chunk: int | None, gpu: str, memory_check: bool, output: str, **served: object
) -> None:
    """Write the inference of a large language model as a graph for tisim step.

    All prompts of a batch are processed at once (prefill), which yields the first token of each;
    the others are generated one by one (decode). With --tokens 1 there is only the prefill; with
    --transfer, --tp times --pp GPUs compute it, and as many others decode.
    """
    described = read_model(model)
    serving = Serving(**served, chunk=chunk or 0)  # type: ignore[arg-type]
    text = write_inference(described, serving)
    if memory_check:
        parts = serving_memory(described, serving)
        less = "more --tp or --pp, or a smaller --batch"
        check_fit("this batch", parts, GPUS[gpu].memory, gpu, less)
    write_graph(output, text)
    gpus = serving.tensor * serving.stages * (2 if serving.transfers else 1)
    click.echo(
        f"{output}: {described.name}, {gpus:,} GPUs, {serving.batch:,} sequences of "
        f"{serving.prompt:,} tokens and {serving.tokens:,} more"
    )
    report_written(output)
