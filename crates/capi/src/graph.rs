//! Graphs.

use std::ffi::{CStr, c_char};

use evener_image::graph::{Graph as OwnGraph, Planes};

use crate::format::Format;
use crate::status::{Failure, Status, guarded};

/// A filter graph.
pub struct Graph(pub(crate) OwnGraph);

/// Makes a graph from its text, `"blur,sobel,threshold=0.25"`, as `evener filter` takes it. It is freed by
/// `evener_graph_free`.
///
/// # Safety
/// `text` is a string that ends with a zero byte, and `graph` a place for a pointer, or either is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_graph_new(text: *const c_char, graph: *mut *mut Graph) -> Status {
    guarded(|| {
        if text.is_null() || graph.is_null() {
            return Err(Failure::invalid("evener_graph_new takes no null"));
        }
        // SAFETY: promised by the caller.
        let text = unsafe { CStr::from_ptr(text) };
        let text = text
            .to_str()
            .map_err(|_| Failure::invalid("a graph is UTF-8"))?;
        let parsed = OwnGraph::parse(text).map_err(Failure::invalid)?;
        // SAFETY: promised by the caller.
        unsafe { graph.write(Box::into_raw(Box::new(Graph(parsed)))) };
        Ok(Status::Ok)
    })
}

/// The format of results for frames of `input`.
///
/// # Safety
/// `graph` was made by `evener_graph_new`, `input` and `output` are formats, or any is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_graph_output(
    graph: *const Graph,
    input: *const Format,
    output: *mut Format,
) -> Status {
    guarded(|| {
        // SAFETY: promised by the caller.
        let (Some(graph), Some(input), false) =
            (unsafe { (graph.as_ref(), input.as_ref(), output.is_null()) })
        else {
            return Err(Failure::invalid("evener_graph_output takes no null"));
        };
        let bound = graph.0.bind(&input.read()?, Planes::Auto);
        let bound = bound.map_err(Failure::invalid)?;
        // SAFETY: promised by the caller.
        unsafe { output.write(Format::from(&bound.output)) };
        Ok(Status::Ok)
    })
}

/// Frees a graph. Streams that were opened with it go on. Null is allowed.
///
/// # Safety
/// `graph` was made by `evener_graph_new` and was not freed, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn evener_graph_free(graph: *mut Graph) {
    if !graph.is_null() {
        // SAFETY: promised by the caller.
        drop(unsafe { Box::from_raw(graph) });
    }
}
