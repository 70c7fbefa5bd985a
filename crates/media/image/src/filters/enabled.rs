//! `enable=`: a filter at work at some moments only, as FFmpeg has it for every filter that keeps the size.

use std::sync::Arc;

use super::{Filter, Joined, null};
use crate::format::{Size, Video};
use crate::graph::bind::Inputs;
use crate::graph::expression::{Expression, Names};
use crate::graph::plane::{PlaneGraph, Port};
use crate::io::ffmpeg::Picture;
use crate::sequence::{Moment, Sequence, Still};
use crate::stage::Plane;

/// What `enable` may depend on.
pub(crate) const NAMES: Names = &[("t", 0), ("n", 1)];

/// `filter`, where `at` is not 0; frames of its first stream pass otherwise.
pub(crate) fn enabled(filter: Arc<dyn Filter>, at: Expression) -> Arc<dyn Filter> {
    Arc::new(Enabled { filter, at })
}

struct Enabled {
    filter: Arc<dyn Filter>,
    at: Expression,
}

impl Filter for Enabled {
    fn inputs(&self) -> usize {
        self.filter.inputs()
    }

    fn video(&self, inputs: &[Video]) -> Result<Video, String> {
        let video = self.filter.video(inputs)?;
        if self.filter.sequence().is_some() || self.filter.outputs() > 1 {
            return Err("`enable` is for filters that compute frames".to_owned());
        }
        match video.format == inputs[0].format {
            true => Ok(video),
            false => Err("`enable` is for filters that keep the size of frames".to_owned()),
        }
    }

    fn output_size(&self, plane: &Plane) -> Result<Size, String> {
        self.filter.output_size(plane)
    }

    fn expand(&self, plane: &Plane, size: Size, input: Port, graph: &mut PlaneGraph) -> Port {
        self.filter.expand(plane, size, input, graph)
    }

    fn join(&self, plane: &Plane, size: Size, inputs: &mut Inputs<'_, '_>) -> Port {
        self.filter.join(plane, size, inputs)
    }

    fn takes_picture(&self) -> bool {
        self.filter.takes_picture()
    }

    fn with_picture(&self, picture: Arc<Picture>) -> Option<Arc<dyn Filter>> {
        let filter = self.filter.with_picture(picture)?;
        Some(enabled(filter, self.at.clone()))
    }

    fn joined(&self) -> Joined {
        self.filter.joined()
    }

    fn sequence(&self) -> Option<&dyn Sequence> {
        self.filter.sequence()
    }

    fn at(&self, moment: &Moment) -> Option<Still> {
        if self.at.value(&[moment.t, moment.n as f64]) == 0.0 {
            return Some(Still {
                key: vec![0],
                filter: null::passing(self.filter.inputs()),
            });
        }
        let still = self.filter.at(moment);
        Some(match still {
            Some(Still { mut key, filter }) => {
                key.insert(0, 1);
                Still { key, filter }
            }
            None => Still {
                key: vec![1],
                filter: self.filter.clone(),
            },
        })
    }
}
