//! The references.

use super::Residual;

mod deblock;
mod forward;
pub(super) mod intra;
mod intra_directional;
mod inverse;
mod quantise;
mod scan;

pub const TABLE: Residual = Residual {
    forward_4x4: forward::forward_4x4,
    forward_16x16: forward::forward_16x16,
    forward_chroma: forward::forward_chroma,
    forward_8x8: forward::forward_8x8,
    quantise_4x4: quantise::quantise_4x4,
    quantise_16x16: quantise::quantise_16x16,
    quantise_chroma: quantise::quantise_chroma,
    quantise_8x8: quantise::quantise_8x8,
    forward_luma_dc: quantise::forward_luma_dc,
    inverse_luma_dc: quantise::inverse_luma_dc,
    forward_chroma_dc: quantise::forward_chroma_dc,
    inverse_chroma_dc: quantise::inverse_chroma_dc,
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
    add_8x8: inverse::add_8x8,
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
};
