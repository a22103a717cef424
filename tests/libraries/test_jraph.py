"""Jraph: a graph alone, under vmap, and in a batch of graphs of other sizes; segment sums are scatters (SCT-1)."""

from typing import Any

import jax
import jax.numpy as jnp
import jraph as typed_jraph
import numpy as np
import pytest

import samebits.jax as sj
from tests.jax.programs import bits, normal
from tests.libraries.compare import compare

jraph: Any = typed_jraph  # its types of features are too wide to calculate with
NODES, EDGES = 9, 20
W, V = normal(5, 5, seed=3), normal(10, 1, seed=4)
RNG = np.random.default_rng(0)
ROWS = normal(8, NODES, 5), *(jnp.asarray(RNG.integers(0, NODES, (8, EDGES))) for _ in range(2))
STOCK_HOLDS = {"convolution", "segments"}  # on this machine


def graph(nodes, senders, receivers):
    counts = {"n_node": jnp.array([len(nodes)]), "n_edge": jnp.array([len(senders)])}
    edges = nodes[senders] * nodes[receivers]
    return jraph.GraphsTuple(nodes, edges, receivers, senders, jnp.ones((1, 3)), **counts)


def convolution(g):
    layer = jraph.GraphConvolution(lambda x: jnp.tanh(x @ W), add_self_edges=True)
    return layer(g._replace(edges=None, globals=None)).nodes


def attention(g):
    logits = lambda sent, received, _: jnp.concatenate([sent, received], -1) @ V  # noqa: E731
    return jraph.GAT(lambda x: x @ W, logits)(g._replace(edges=None, globals=None)).nodes


def network(g):
    """Two rounds of messages between edges, nodes and the whole graph."""
    layer = jraph.GraphNetwork(
        update_edge_fn=lambda e, sent, received, _: jnp.tanh(e @ W + sent - received),
        update_node_fn=lambda x, sent, received, _: jnp.tanh(x + sent + received @ W),
        update_global_fn=lambda x, e, u: jnp.tanh(u + x.sum(-1, keepdims=True) + e.mean()),
        aggregate_edges_for_nodes_fn=jraph.segment_mean,
    )
    out = layer(layer(g))
    return out.nodes, out.edges


def network_gradient(g):
    return jax.grad(lambda x: sum(jnp.sum(a**2) for a in network(g._replace(nodes=x))))(g.nodes)


def segments(g):
    x, to, n = g.edges, g.receivers, len(g.nodes)
    return jraph.segment_sum(x, to, n), jraph.segment_max(x, to, n), jraph.segment_softmax(x[:, 0], to, n)


@pytest.mark.parametrize("f", [convolution, attention, network, network_gradient, segments])
def test_graphs_alone_are_graphs_vmapped(f):
    found = compare(lambda row: f(graph(*row)), ROWS)
    assert found.invariant.drifted == []
    assert found.stock.drifted or f.__name__ in STOCK_HOLDS
    found.assert_close()


@pytest.mark.parametrize("f", [attention, convolution])
def test_graphs_alone_are_graphs_in_a_padded_batch(f):
    """jraph.batch lays graphs of different sizes end to end, jraph.pad_with_graphs adds some that fill it up.

    Stock holds as well on this machine: its products over K = 5 do not look at their number of rows.
    """
    graphs = [graph(normal(n, 5, seed=n), *RNG.integers(0, n, (2, 2 * n))) for n in (3, 9, 4)]
    batch = jraph.pad_with_graphs(jraph.batch(graphs), 64, 128, 8)

    def drifted(f):
        together, at, moved = np.asarray(jax.jit(f)(batch)), 0, []
        for i, g in enumerate(graphs):
            if bits(together[at : at + len(g.nodes)]) != bits(jax.jit(f)(g)):
                moved.append(i)
            at += len(g.nodes)
        return moved

    assert drifted(sj.invariant(f)) == []
