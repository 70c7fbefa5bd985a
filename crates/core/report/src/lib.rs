//! Tables for a terminal, and HTML pages with everything in them.
#![forbid(unsafe_code)]

mod markup;
pub mod page;
pub mod svg;
pub mod table;

pub use markup::escape;
pub use page::{Section, of_tables, page};
pub use table::Table;
