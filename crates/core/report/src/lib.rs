//! Tables for a terminal, and self-contained HTML pages with tables and charts.
//!
//! A [`Table`] prints itself as text. [`page`](page()) makes an HTML page of [`Section`]s; [`svg`] draws their charts.
#![forbid(unsafe_code)]

mod markup;
pub mod page;
pub mod svg;
pub mod table;

pub use markup::escape;
pub use page::{Section, of_tables, page};
pub use table::Table;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
