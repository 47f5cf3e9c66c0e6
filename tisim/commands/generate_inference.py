"""``tisim generate inference``: prefill and decoding of a language model."""

from __future__ import annotations

import click

from tisim.commands import report_written, trace_option
from tisim.gpu.llm import MODELS, read_model
from tisim.gpu.llm_inference import Serving, serving_memory, write_inference
from tisim.gpu.llm_memory import check_fit
from tisim.gpu.machines import GPUS
from tisim.gpu.step_graph import DTYPES
from tisim.traces.graph_files import write_graph

_COUNT = click.IntRange(1, 1 << 20)


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
    "TOML file as of tisim generate llm.",
)  # fmt: skip
@click.option("--tp", type=_COUNT, default=1, show_default=True, help="GPUs that share a matrix.")
@click.option("--pp", type=_COUNT, default=1, show_default=True,
              help="Stages of a pipeline, through which as many parts of the batch follow each "
              "other.")  # fmt: skip
@click.option("--chunk", type=_COUNT, help="Tokens of a prompt at once (default: all).")
@click.option("--transfer", is_flag=True,
              help="As many other GPUs decode; keys and values go there by layer.")  # fmt: skip
@click.option("--batch", type=_COUNT, default=1, show_default=True, help="Sequences at once.")
@click.option("--prompt", type=_COUNT, default=1024, show_default=True, help="Tokens of a prompt.")
@click.option("--tokens", type=_COUNT, default=128, show_default=True,
              help="Tokens that are made after each prompt.")  # fmt: skip
@click.option("--dtype", type=click.Choice(DTYPES), default="bf16", show_default=True,
              help="Of matrices; keys and values have 16 bits.")  # fmt: skip
@click.option("--gpu", type=click.Choice(list(GPUS)), default="h100", show_default=True,
              help="Whose memory is checked.")  # fmt: skip
@click.option("--memory-check/--no-memory-check", default=True, show_default=True,
              help="Refuse what does not fit into a GPU.")  # fmt: skip
@trace_option("FILE", "Graph to write; packed, if its name ends in .tit.")
def inference_command(
    model: str,
    tp: int,
    pp: int,
    chunk: int | None,
    transfer: bool,
    batch: int,
    prompt: int,
    tokens: int,
    dtype: str,
    gpu: str,
    memory_check: bool,
    output: str,
) -> None:
    """Write the inference of a large language model as a graph for tisim step.

    All prompts of a batch are computed at once (prefill), which gives the first token of each; the
    others come one by one (decode). With --tokens 1 there is only the prefill; with --transfer,
    --tp times --pp GPUs compute it, and as many others decode.
    """
    described = read_model(model)
    serving = Serving(tp, batch, prompt, tokens, dtype, pp, chunk or 0, transfer)
    text = write_inference(described, serving)
    if memory_check:
        parts = serving_memory(described, serving)
        less = "more --tp or --pp, or a smaller --batch"
        check_fit("this batch", parts, GPUS[gpu].memory, gpu, less)
    write_graph(output, text)
    gpus = tp * pp * (2 if transfer else 1)
    click.echo(
        f"{output}: {described.name}, {gpus:,} GPUs, {batch:,} sequences of {prompt:,} tokens and "
        f"{tokens:,} more"
    )
    report_written(output)
