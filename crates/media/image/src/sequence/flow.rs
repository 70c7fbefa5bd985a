//! The shots that a graph gives, one by one: each is pulled through the filters from the inputs.

use std::collections::VecDeque;
use std::sync::Arc;

use super::join::Join;
use super::memory;
use super::picture::{Made, Picture};
use super::rate::AtRate;
use super::{Moment, Passing, Shot, Upstream};
use crate::filters::Filter;
use crate::format::{Ratio, Video};
use crate::frame::Frame;
use crate::graph::Graph;
use crate::graph::bind::video_of;
use crate::graph::wiring::Link;
use crate::io::Error;

/// So many new frames are made before memory is looked at again.
const CHECKED: u64 = 32;

/// Frames of an input, in order.
pub(crate) trait Feed: Send {
    /// Reads the next frame into `frame`; `false` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    fn read(&mut self, frame: &mut Frame) -> Result<bool, Error>;
}

/// The shots of a graph.
pub(crate) struct Flow<F> {
    graph: Graph,
    feeds: Vec<Fed<F>>,
    nodes: Vec<Option<Node>>,
    result: Option<AtRate>,
}

/// An input.
struct Fed<F> {
    feed: F,
    video: Video,
    /// The rate at which its frames enter the graph, if that is another.
    rate: Option<AtRate>,
    read: u64,
    ended: bool,
    /// Frames that may be used again, and how many were made.
    pool: Vec<Arc<Frame>>,
    made: u64,
}

/// A filter of the graph, at work.
enum Node {
    /// It computes frames, of one stream or of several.
    Frames { n: u64, join: Option<Join> },
    /// It passes on frames.
    Passes(Box<dyn Passing>),
    /// It gives each frame to several readers.
    Splits(Vec<VecDeque<Shot>>),
}

impl<F: Feed> Flow<F> {
    /// Begins to pull. `inputs` are the streams as they enter the graph, with the rate of the first if frames are repeated or
    /// left out for it. Shots come at `steady`, if that is given, and when they come otherwise.
    pub fn new(
        graph: &Graph,
        feeds: Vec<(F, Video)>,
        rate: Option<Ratio>,
        steady: Option<Ratio>,
        videos: &[Video],
    ) -> Flow<F> {
        let mut rate = rate;
        let feeds: Vec<Fed<F>> = feeds
            .into_iter()
            .map(|(feed, video)| Fed {
                feed,
                video,
                rate: rate.take().map(|rate| AtRate::new(rate, false)),
                read: 0,
                ended: false,
                pool: Vec::new(),
                made: 0,
            })
            .collect();
        let inputs: Vec<Video> = feeds.iter().map(|fed| fed.video).collect();
        let nodes = graph.filters.iter().map(|call| {
            let of = |link: &Link| video_of(&inputs, videos, *link);
            let read: Vec<Video> = call.inputs.iter().map(of).collect();
            let filter = &call.filter;
            Some(match filter.sequence() {
                Some(sequence) => Node::Passes(sequence.start(&read)),
                None if filter.outputs() > 1 => {
                    Node::Splits(vec![VecDeque::new(); filter.outputs()])
                }
                None => Node::Frames {
                    n: 0,
                    join: (filter.inputs() > 1)
                        .then(|| Join::new(filter.inputs(), filter.joined())),
                },
            })
        });
        Flow {
            nodes: nodes.collect(),
            graph: graph.clone(),
            feeds,
            result: steady.map(|rate| AtRate::new(rate, true)),
        }
    }

    /// The inputs.
    pub fn feeds(&self) -> impl Iterator<Item = &F> {
        self.feeds.iter().map(|fed| &fed.feed)
    }

    /// The inputs, to be changed.
    pub fn feeds_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.feeds.iter_mut().map(|fed| &mut fed.feed)
    }

    /// A frame that nothing uses any more comes back to the inputs.
    pub fn give_back(&mut self, frame: Arc<Frame>) {
        if Arc::strong_count(&frame) > 1 {
            return;
        }
        let of = |fed: &&mut Fed<F>| fed.video.format == *frame.format();
        if let Some(fed) = self.feeds.iter_mut().find(of) {
            fed.pool.push(frame);
        }
    }

    /// The next shot; `None` at the end.
    ///
    /// # Errors
    /// An input cannot be read.
    pub fn next(&mut self) -> Result<Option<Shot>, Error> {
        match self.result.take() {
            None => self.pull(self.graph.result),
            Some(mut steady) => {
                let link = self.graph.result;
                let shot = steady.next(&mut Reading {
                    flow: self,
                    call: None,
                    link: Some(link),
                });
                self.result = Some(steady);
                shot
            }
        }
    }

    fn pull(&mut self, link: Link) -> Result<Option<Shot>, Error> {
        match link {
            Link::Input(input) => match self.feeds[input].rate.take() {
                None => self.read(input),
                Some(mut rate) => {
                    let mut raw = Raw { flow: self, input };
                    let shot = rate.next(&mut raw);
                    self.feeds[input].rate = Some(rate);
                    shot
                }
            },
            Link::Output { call, pad } => {
                let node = self.nodes[call].take();
                let mut node = node.expect("no filter reads what it gives itself");
                let mut reading = Reading {
                    flow: self,
                    call: Some(call),
                    link: None,
                };
                let shot = node.next(&mut reading, pad);
                self.nodes[call] = Some(node);
                shot
            }
        }
    }

    /// The next frame of an input.
    fn read(&mut self, input: usize) -> Result<Option<Shot>, Error> {
        let fed = &mut self.feeds[input];
        if fed.ended {
            return Ok(None);
        }
        let mut frame = match fed.pool.pop() {
            Some(frame) => frame,
            None => {
                fed.made += 1;
                if fed.made.is_multiple_of(CHECKED) && !memory::is_left() {
                    return Err(Error::Held { frames: fed.made });
                }
                Arc::new(Frame::new(&fed.video.format))
            }
        };
        let own = match Arc::get_mut(&mut frame) {
            Some(own) => own,
            None => {
                frame = Arc::new(Frame::new(&fed.video.format));
                Arc::get_mut(&mut frame).expect("a new frame has no other owner")
            }
        };
        if !fed.feed.read(own)? {
            fed.ended = true;
            return Ok(None);
        }
        let Ratio { num, den } = fed.video.timing.rate;
        let duration = f64::from(den) / f64::from(num);
        let time = fed.read as f64 * f64::from(den) / f64::from(num);
        fed.read += 1;
        Ok(Some(Shot {
            picture: Picture::Frame { input, frame },
            time,
            duration,
        }))
    }
}

impl Node {
    fn next<F: Feed>(
        &mut self,
        reading: &mut Reading<'_, F>,
        pad: usize,
    ) -> Result<Option<Shot>, Error> {
        match self {
            Node::Passes(passing) => passing.next(reading),
            Node::Splits(queues) => {
                if let Some(shot) = queues[pad].pop_front() {
                    return Ok(Some(shot));
                }
                let shot = reading.next(0)?;
                if let Some(shot) = &shot {
                    let others = queues.iter_mut().enumerate().filter(|(at, _)| *at != pad);
                    others.for_each(|(_, queue)| queue.push_back(shot.clone()));
                }
                Ok(shot)
            }
            Node::Frames { n, join } => {
                let shots = match join {
                    None => reading.next(0)?.map(|shot| vec![shot]),
                    Some(join) => join.next(reading)?,
                };
                let Some(shots) = shots else { return Ok(None) };
                let (time, duration) = (shots[0].time, shots[0].duration);
                let moment = Moment { n: *n, t: time };
                *n += 1;
                let count = shots.len();
                let pictures: Vec<Picture> = shots.into_iter().map(|shot| shot.picture).collect();
                let joined = join.as_ref().map_or(1, Join::streams);
                if count < joined {
                    let picture = pictures.into_iter().next();
                    return Ok(picture.map(|picture| Shot {
                        picture,
                        time,
                        duration,
                    }));
                }
                Ok(Some(Shot {
                    picture: reading.made(&moment, pictures),
                    time,
                    duration,
                }))
            }
        }
    }
}

/// What a filter of a flow reads.
struct Reading<'a, F> {
    flow: &'a mut Flow<F>,
    /// The filter, or what is read instead.
    call: Option<usize>,
    link: Option<Link>,
}

impl<F: Feed> Reading<'_, F> {
    /// What the filter makes of pictures at a moment.
    fn made(&self, moment: &Moment, inputs: Vec<Picture>) -> Picture {
        let call = self.call.unwrap_or(0);
        let filter = &self.flow.graph.filters[call].filter;
        match filter.at(moment) {
            Some(still) => self.make(&still.filter, &still.key, inputs),
            None => self.make(filter, &[], inputs),
        }
    }
}

impl<F: Feed> Upstream for Reading<'_, F> {
    fn next(&mut self, stream: usize) -> Result<Option<Shot>, Error> {
        let link = match (self.link, self.call) {
            (Some(link), _) => link,
            (None, call) => self.flow.graph.filters[call.unwrap_or(0)].inputs[stream],
        };
        self.flow.pull(link)
    }

    fn make(&self, filter: &Arc<dyn Filter>, key: &[u64], inputs: Vec<Picture>) -> Picture {
        Picture::Made(Arc::new(Made {
            call: self.call.unwrap_or(0),
            filter: filter.clone(),
            key: key.to_vec(),
            inputs,
        }))
    }
}

/// An input as it is read.
struct Raw<'a, F> {
    flow: &'a mut Flow<F>,
    input: usize,
}

impl<F: Feed> Upstream for Raw<'_, F> {
    fn next(&mut self, _: usize) -> Result<Option<Shot>, Error> {
        self.flow.read(self.input)
    }

    fn make(&self, _: &Arc<dyn Filter>, _: &[u64], mut pictures: Vec<Picture>) -> Picture {
        pictures.swap_remove(0)
    }
}
