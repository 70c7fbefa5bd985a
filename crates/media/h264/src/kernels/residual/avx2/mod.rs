//! Kernels for x86 with AVX2.
//!
//! The functions of the table check the bounds of slices, then run one compiled for AVX2, which relies on them.

use super::Residual;
use super::scalar;

mod deblock;
mod edge;
mod forward;
mod forward_8x8;
mod intra;
mod intra_directional;
mod inverse;
mod inverse_8x8;
mod memory;
mod quantise;
mod scan;
mod transpose;

/// Whether the processor has what the functions of [`TABLE`] are compiled for. They must not run without.
pub fn present() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("popcnt")
}

/// Must be handed out only where [`present`] says so.
pub const TABLE: Residual = Residual {
    forward_4x4: forward::forward_4x4,
    forward_16x16: forward::forward_16x16,
    forward_chroma: forward::forward_chroma,
    forward_8x8: forward_8x8::forward_8x8,
    quantise_4x4: quantise::quantise_4x4,
    quantise_16x16: quantise::quantise_16x16,
    quantise_chroma: quantise::quantise_chroma,
    quantise_8x8: quantise::quantise_8x8,
    zigzag_4x4: scan::zigzag_4x4,
    zigzag_16x16: scan::zigzag_16x16,
    zigzag_chroma: scan::zigzag_chroma,
    zigzag_8x8: scan::zigzag_8x8,
    decimate_4x4: scan::decimate_4x4,
    decimate_ac: scan::decimate_ac,
    add_4x4: inverse::add_4x4,
    add_16x16: inverse::add_16x16,
    add_16x16_dc: inverse::add_16x16_dc,
    add_chroma: inverse::add_chroma,
    add_8x8: inverse_8x8::add_8x8,
    intra_16x16: intra::intra_16x16,
    intra_chroma: intra::intra_chroma,
    intra_4x4: intra_directional::intra_4x4,
    intra_8x8: intra_directional::intra_8x8,
    luma_vertical_edge: deblock::luma_vertical_edge,
    luma_horizontal_edge: deblock::luma_horizontal_edge,
    luma_vertical_strong: deblock::luma_vertical_strong,
    luma_horizontal_strong: deblock::luma_horizontal_strong,
    chroma_vertical_edge: deblock::chroma_vertical_edge,
    chroma_horizontal_edge: deblock::chroma_horizontal_edge,
    chroma_vertical_strong: deblock::chroma_vertical_strong,
    chroma_horizontal_strong: deblock::chroma_horizontal_strong,
    ..scalar::TABLE
};
