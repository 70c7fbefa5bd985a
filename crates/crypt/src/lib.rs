//! Bulk encryption and a product cipher, as services on the evener runtime.

pub mod product;
