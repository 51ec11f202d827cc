"""Build the ONNX graph of all-MiniLM-L6-v2 with 8-bit weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recollect.providers.base import read_tensors

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

GRAPH_VERSION = 1
"""The version of the built graph; raise it with every change that changes a vector."""

LAYERS = 6
HEADS = 12
WIDTH = 384
MAX_TOKENS = 256
"""How many tokens of a text are read, as in training."""

EPSILON = 1e-12
WEIGHTS_PER_SCALE = 32
"""How many weights share a scale."""

MAX_STEP = 127
"""The largest 8-bit step on either side of zero."""

EIGHT_BIT_ACTIVATIONS = 4
"""The operator's accuracy level for 8-bit products; each row has its own scales.

The batch therefore does not change the result.
"""

MASK_VALUE = -1e9
"""Added to attention scores of padding, which are then 0 after the softmax."""

Array = NDArray[Any]


def build_onnx_graph(weights: bytes) -> bytes:
    """Build an ONNX file with inputs `ids` and `mask` (texts × tokens) and output `totals`.

    A total (texts × 384) is the sum of the last layer over a text's tokens, so it has the direction of their mean.
    """
    from onnx import TensorProto, helper

    graph = _GraphBuilder(read_tensors(weights))
    state = graph.embedding("ids")
    hidden = graph.attention_mask("mask")
    for layer in range(LAYERS):
        state = graph.layer(f"encoder.layer.{layer}", state, hidden)
    graph.token_sum(state, "mask", "totals")

    shape = ["texts", "tokens"]
    onnx_graph = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, shape),
            helper.make_tensor_value_info("mask", TensorProto.FLOAT, shape),
        ],
        [helper.make_tensor_value_info("totals", TensorProto.FLOAT, ["texts", WIDTH])],
        graph.constants,
    )
    operators = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(onnx_graph, opset_imports=operators, ir_version=9, producer_name="recollect")
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def quantize(rows: Array, block: int) -> tuple[Array, Array]:
    """Quantize each block of a row in steps of its own scale; return steps and scales.

    Their shapes are rows × blocks × block and rows × blocks.
    """
    blocks = rows.reshape(len(rows), -1, block)
    scales = (np.abs(blocks).max(axis=2) / np.float32(MAX_STEP)).astype(np.float32)
    steps = np.rint(blocks / np.where(scales == 0.0, 1.0, scales)[:, :, np.newaxis])
    return steps.astype(np.int8), scales


class _GraphBuilder:
    """Collects nodes and constants, each named after its weights."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def embedding(self, ids: str) -> str:
        """Add a token's vector and its position's vector, normalized."""
        from onnx import TensorProto

        name = "embeddings.word_embeddings.weight"
        steps, scales = quantize(self.weights[name], WIDTH)
        rows = self.add_node("Gather", [self.add_constant(f"{name}.steps", steps[:, 0]), ids])
        scale = self.add_node("Gather", [self.add_constant(f"{name}.scales", scales), ids])
        words = self.add_node("Mul", [self.add_node("Cast", [rows], to=TensorProto.FLOAT), scale])

        places = self.weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        places = places + self.weights["embeddings.token_type_embeddings.weight"][0]
        length = self.add_node("Shape", [ids], start=1, end=2)
        here = self.add_node("Slice", [self.add_constant("places", places), self.add_integers("first", [0]), length])
        return self.norm("embeddings.LayerNorm", self.add_node("Add", [words, here]))

    def attention_mask(self, mask: str) -> str:
        """Return 0 for a token, and nearly minus infinity for padding."""
        mask = self.add_node("Unsqueeze", [mask, self.add_integers("for heads and queries", [1, 2])])
        absent = self.add_node("Sub", [self.add_constant("one", np.array(1, dtype=np.float32)), mask])
        return self.add_node("Mul", [absent, self.add_constant("hidden", np.array(MASK_VALUE, dtype=np.float32))])

    def layer(self, name: str, state: str, hidden: str) -> str:
        """Build one layer of BERT: attention, then a feed-forward network per token."""
        attended = self.dense(f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", state, hidden))
        state = self.norm(f"{name}.attention.output.LayerNorm", self.add_node("Add", [attended, state]))
        output = self.add_node("Gelu", [self.dense(f"{name}.intermediate.dense", state)])
        output = self.dense(f"{name}.output.dense", output)
        return self.norm(f"{name}.output.LayerNorm", self.add_node("Add", [output, state]))

    def attention(self, name: str, state: str, hidden: str) -> str:
        """Build the attention of each token to the others, per head."""
        query, key, value = (
            self.add_node(
                "Reshape", [self.dense(f"{name}.{part}", state), self.add_integers("heads", [0, 0, HEADS, -1])]
            )
            for part in ("query", "key", "value")
        )
        query, value = (self.add_node("Transpose", [part], perm=[0, 2, 1, 3]) for part in (query, value))
        scores = self.add_node("MatMul", [query, self.add_node("Transpose", [key], perm=[0, 2, 3, 1])])
        root = self.add_constant("root", np.sqrt(np.array(WIDTH // HEADS, dtype=np.float32)))
        scores = self.add_node("Add", [self.add_node("Div", [scores, root]), hidden])
        output = self.add_node("MatMul", [self.add_node("Softmax", [scores], axis=-1), value])
        output = self.add_node("Transpose", [output], perm=[0, 2, 1, 3])
        return self.add_node("Reshape", [output, self.add_integers("joined", [0, 0, WIDTH])])

    def dense(self, name: str, state: str) -> str:
        """Multiply the state by the 8-bit weights and add the bias."""
        width, depth = self.weights[f"{name}.weight"].shape
        steps, scales = quantize(self.weights[f"{name}.weight"], WEIGHTS_PER_SCALE)
        steps = (steps.astype(np.int16) + 128).astype(np.uint8)  # the operator counts its steps from 128
        product = self.add_node(
            "MatMulNBits",
            [state, self.add_constant(f"{name}.steps", steps), self.add_constant(f"{name}.scales", scales)],
            domain="com.microsoft",
            K=depth,
            N=width,
            bits=8,
            block_size=WEIGHTS_PER_SCALE,
            accuracy_level=EIGHT_BIT_ACTIVATIONS,
        )
        return self.add_node("Add", [product, self.add_constant(f"{name}.bias", self.weights[f"{name}.bias"])])

    def norm(self, name: str, state: str) -> str:
        """Normalize the state to mean 0 and variance 1, then scale and shift it by the weights."""
        parts = [self.add_constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.add_node("LayerNormalization", [state, *parts], axis=-1, epsilon=EPSILON)

    def token_sum(self, state: str, mask: str, output: str) -> None:
        """Sum the state over a text's own tokens."""
        own = self.add_node("Unsqueeze", [mask, self.add_integers("for each number", [2])])
        masked = self.add_node("Mul", [state, own])
        self.add_node("ReduceSum", [masked, self.add_integers("over tokens", [1])], output=output, keepdims=0)

    def add_node(self, operator: str, inputs: Sequence[str], *, output: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        from onnx import helper

        output = output or f"{operator} {len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output

    def add_constant(self, name: str, value: Array) -> str:
        """Add a constant, unless that name exists, and return its name."""
        from onnx import numpy_helper

        if all(known.name != name for known in self.constants):
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add_integers(self, name: str, numbers: Sequence[int]) -> str:
        """Add a constant list of integers, such as a shape."""
        return self.add_constant(name, np.array(numbers, dtype=np.int64))
