"""JAX's primitives that have no rule: why, and the way out. docs/primitives.md lists them beside those that have one.

A primitive that is neither here nor in the table of rules is refused all the same; the page's check then asks for a
line (python -m dev.primitives --check).
"""


def _for(names: str, reason: str, way_out: str) -> dict[str, tuple[str, str]]:
    return dict.fromkeys(names.split(), (reason, way_out))


REFUSED: dict[str, tuple[str, str]] = {
    **_for(
        "get swap addupdate accum_grad_in_ref new_ref empty_ref free_ref freeze pin unpin create_linear run_state "
        "broadcast_to new_box box_get box_set new_log log_extend log_read",
        "it reads or writes a mutable reference from outside, and only values are followed",
        "make it inside (jax.new_ref: JAX turns that one into values first), or pass and return arrays",
    ),
    **_for(
        "pallas_call core_map stage mpmd_map",
        "a kernel fixes its own order, which samebits cannot see",
        "use jax.numpy operations",
    ),
    **_for("rng_uniform", "it depends on hidden state", "use jax.random"),
    **_for(
        "ffi_call custom_partitioning call_exported cudnn_fusion tpu_custom_call "
        "dot_product_attention_fwd dot_product_attention_fwd_wrapper dot_product_attention_bwd "
        "dot_product_attention_bwd_wrapper dot_product_attention_fp8_fwd dot_product_attention_fp8_fwd_wrapper "
        "dot_product_attention_fp8_bwd dot_product_attention_fp8_bwd_wrapper scaled_matmul scaled_matmul_wrapper",
        "compiled code of somebody else's runs there, whose order samebits cannot see",
        "use jax.numpy operations, or call it outside invariant()",
    ),
    **_for(
        "scaled_dot",
        "this kind of matrix product has no rule yet",
        "scale the operands and use jnp.matmul",
    ),
    **_for(
        "select_and_scatter",
        "its functions are anybody's, and no rule follows them",
        "use jax.lax.reduce_window and its derivative, or gather and scatter",
    ),
    **_for(
        "cholesky_update symmetric_product geqp3",
        "this function of linear algebra has no rule yet",
        "use jnp.linalg.solve, cholesky or qr (level batch), or jnp.matmul",
    ),
    **_for(
        "all_gather_reduced unreduced_psum unreduced_reduce_scatter",
        "its operands or results are sums that devices have not added up yet",
        "use all_gather, psum and psum_scatter",
    ),
    **_for(
        "psend precv",
        "it moves values between programs of different devices",
        "apply invariant() to the part before and to the part after",
    ),
    **_for(
        "preduced vary_unreduced_cast_p reduced_vary_cast_p inspect_sharding with_memory_space_constraint",
        "it says how a value is split over devices, or where it lies",
        "say it outside invariant(), by the shardings of its arguments and results",
    ),
    **_for(
        "dim_as_value dimension_size shape_assertion",
        "the size of an axis is not known, and the contract's order depends on it",
        "export with fixed shapes",
    ),
    **_for(
        "check",
        "a check that may fail is no value",
        "give jax.experimental.checkify.checkify(f) to invariant(), which makes it one",
    ),
    **_for(
        "call_hi_primitive call_hi_primitive_linearized",
        "an operation of the experimental hijax has no rule",
        "use jax.custom_vjp or jax.custom_jvp",
    ),
    **_for("linear_call", "its function is not looked into", "call the function itself"),
    **_for(
        "custom_lin custom_jvp_call_jaxpr remat_opt unreachable zeros_like",
        "JAX has done away with it before a program is compiled, and so it has no rule",
        "report the program that led here",
    ),
}  # fmt: skip
