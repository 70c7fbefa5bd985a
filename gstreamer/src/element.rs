//! The element `evenerfilter`: a graph between two pads.
//!
//! Frames are pushed to a stream that stays open by the thread that brings them; results are sent on by a task of the source
//! pad. Events that have a place in the stream wait for the frame after them, or for the end.

use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use evener_image::graph::Graph;
use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_video::{VideoCapsBuilder, VideoInfo};

use crate::formats;
use crate::running::{Result as Pulled, Running, SOON};

glib::wrapper! {
    /// A graph between two pads.
    pub struct EvenerFilter(ObjectSubclass<Filter>) @extends gst::Element, gst::Object;
}

/// Tells GStreamer of the element.
///
/// # Errors
/// It cannot be registered.
pub fn register(plugin: &gst::Plugin) -> Result<(), glib::BoolError> {
    let rank = gst::Rank::NONE;
    gst::Element::register(
        Some(plugin),
        "evenerfilter",
        rank,
        EvenerFilter::static_type(),
    )
}

static LOG: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    let about = Some("Filter graphs of evener");
    gst::DebugCategory::new("evenerfilter", gst::DebugColorFlags::empty(), about)
});

/// What the user set.
#[derive(Clone, Default)]
struct Settings {
    graph: String,
    workers: u32,
}

/// What the threads of the element share.
struct State {
    running: Option<Arc<Running>>,
    /// Events that wait for the frame after them.
    events: Vec<gst::Event>,
    /// No more frames are taken, and results are dropped.
    flushing: bool,
    /// The stream ends, so that another can begin or for good.
    ends: bool,
    /// How sending on went last.
    flow: Result<gst::FlowSuccess, gst::FlowError>,
}

/// See [`EvenerFilter`].
pub struct Filter {
    sink: gst::Pad,
    source: gst::Pad,
    settings: Mutex<Settings>,
    state: Mutex<State>,
    /// The last result of a stream that ends was sent on.
    drained: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[glib::object_subclass]
impl ObjectSubclass for Filter {
    const NAME: &'static str = "EvenerFilter";
    type Type = EvenerFilter;
    type ParentType = gst::Element;

    fn with_class(class: &Self::Class) -> Self {
        let template = |name| {
            class
                .pad_template(name)
                .expect("the class has the template")
        };
        let sink = gst::Pad::builder_from_template(&template("sink"))
            .chain_function(|_, parent, buffer| {
                let failed = || Err(gst::FlowError::Error);
                Filter::catch_panic_pad_function(parent, failed, |this| this.chain(buffer))
            })
            .event_function(|pad, parent, event| {
                Filter::catch_panic_pad_function(parent, || false, |this| this.event(pad, event))
            })
            .build();
        let source = gst::Pad::builder_from_template(&template("src"))
            .query_function(|pad, parent, query| {
                Filter::catch_panic_pad_function(parent, || false, |this| this.query(pad, query))
            })
            .build();
        Filter {
            sink,
            source,
            settings: Mutex::default(),
            state: Mutex::new(State {
                running: None,
                events: Vec::new(),
                flushing: false,
                ends: false,
                flow: Ok(gst::FlowSuccess::Ok),
            }),
            drained: Condvar::new(),
        }
    }
}

impl ObjectImpl for Filter {
    fn properties() -> &'static [glib::ParamSpec] {
        static PROPERTIES: LazyLock<Vec<glib::ParamSpec>> = LazyLock::new(|| {
            vec![
                glib::ParamSpecString::builder("graph")
                    .nick("Graph")
                    .blurb("The filters, as evener filter takes them: blur,sobel,threshold=0.25")
                    .mutable_ready()
                    .build(),
                glib::ParamSpecUInt::builder("workers")
                    .nick("Workers")
                    .blurb("Number of threads; 0 for one per CPU")
                    .maximum(1024)
                    .mutable_ready()
                    .build(),
            ]
        });
        &PROPERTIES
    }

    fn set_property(&self, _: usize, value: &glib::Value, spec: &glib::ParamSpec) {
        let mut settings = lock(&self.settings);
        match spec.name() {
            "graph" => {
                settings.graph = value
                    .get::<Option<String>>()
                    .ok()
                    .flatten()
                    .unwrap_or_default()
            }
            "workers" => settings.workers = value.get().unwrap_or_default(),
            name => unreachable!("there is no property {name}"),
        }
    }

    fn property(&self, _: usize, spec: &glib::ParamSpec) -> glib::Value {
        let settings = lock(&self.settings);
        match spec.name() {
            "graph" => settings.graph.to_value(),
            "workers" => settings.workers.to_value(),
            name => unreachable!("there is no property {name}"),
        }
    }

    fn constructed(&self) {
        self.parent_constructed();
        let element = self.obj();
        for pad in [&self.sink, &self.source] {
            element
                .add_pad(pad)
                .expect("the element has no pad of the name yet");
        }
    }
}

impl GstObjectImpl for Filter {}

impl ElementImpl for Filter {
    fn metadata() -> Option<&'static gst::subclass::ElementMetadata> {
        static METADATA: LazyLock<gst::subclass::ElementMetadata> = LazyLock::new(|| {
            gst::subclass::ElementMetadata::new(
                "evener filter graph",
                "Filter/Effect/Video",
                "Runs a filter graph on all cores, tuned by measuring",
                "evener",
            )
        });
        Some(&METADATA)
    }

    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = VideoCapsBuilder::new()
                .format_list(formats::names())
                .build();
            let template = |name, direction| {
                gst::PadTemplate::new(name, direction, gst::PadPresence::Always, &caps)
                    .expect("the caps are fit for a template")
            };
            vec![
                template("sink", gst::PadDirection::Sink),
                template("src", gst::PadDirection::Src),
            ]
        });
        &TEMPLATES
    }

    fn change_state(
        &self,
        transition: gst::StateChange,
    ) -> Result<gst::StateChangeSuccess, gst::StateChangeError> {
        if transition == gst::StateChange::ReadyToPaused {
            self.graph().map_err(|error| {
                gst::element_imp_error!(self, gst::LibraryError::Settings, ["{error}"]);
                gst::StateChangeError
            })?;
            *lock(&self.state) = State {
                running: None,
                events: Vec::new(),
                flushing: false,
                ends: false,
                flow: Ok(gst::FlowSuccess::Ok),
            };
        }
        if transition == gst::StateChange::PausedToReady {
            lock(&self.state).flushing = true;
        }
        let changed = self.parent_change_state(transition)?;
        if transition == gst::StateChange::PausedToReady {
            self.stop();
        }
        Ok(changed)
    }
}

impl Filter {
    fn graph(&self) -> Result<Graph, String> {
        let text = lock(&self.settings).graph.clone();
        match text.is_empty() {
            true => Err("set the property graph, for example graph=blur,sobel".to_owned()),
            false => Graph::parse(&text).map_err(|error| error.to_string()),
        }
    }

    /// Takes a frame.
    fn chain(&self, buffer: gst::Buffer) -> Result<gst::FlowSuccess, gst::FlowError> {
        let (running, events) = {
            let mut state = lock(&self.state);
            if state.flushing {
                return Err(gst::FlowError::Flushing);
            }
            state.flow?;
            let running = state.running.clone().ok_or(gst::FlowError::NotNegotiated)?;
            (running, std::mem::take(&mut state.events))
        };
        let stops = || {
            let state = lock(&self.state);
            state.flushing || state.flow.is_err()
        };
        match running.push(buffer, events, stops) {
            Ok(true) => lock(&self.state).flow,
            Ok(false) => {
                let state = lock(&self.state);
                state.flow?;
                Err(match state.flushing {
                    true => gst::FlowError::Flushing,
                    false => gst::FlowError::Eos,
                })
            }
            Err(error) => {
                gst::element_imp_error!(self, gst::StreamError::Failed, ["{error}"]);
                Err(gst::FlowError::Error)
            }
        }
    }

    fn event(&self, pad: &gst::Pad, event: gst::Event) -> bool {
        match event.view() {
            gst::EventView::Caps(caps) => self.caps(caps.caps()),
            gst::EventView::FlushStart(_) => {
                lock(&self.state).flushing = true;
                gst::Pad::event_default(pad, Some(&*self.obj()), event)
            }
            gst::EventView::FlushStop(_) => {
                self.stop();
                let again = self.restart();
                gst::Pad::event_default(pad, Some(&*self.obj()), event) && again
            }
            gst::EventView::Eos(_) => {
                self.drain();
                self.send_events();
                gst::Pad::event_default(pad, Some(&*self.obj()), event)
            }
            _ if event.is_serialized() => {
                let mut state = lock(&self.state);
                match state.flushing {
                    true => false,
                    false => {
                        state.events.push(event);
                        true
                    }
                }
            }
            _ => gst::Pad::event_default(pad, Some(&*self.obj()), event),
        }
    }

    /// Frames of other caps come.
    fn caps(&self, caps: &gst::CapsRef) -> bool {
        let started = VideoInfo::from_caps(caps)
            .map_err(|error| error.to_string())
            .and_then(|info| {
                self.drain();
                self.start(&info)
            });
        match started {
            Ok(()) => true,
            Err(error) => {
                gst::element_imp_error!(self, gst::StreamError::Format, ["{error}"]);
                false
            }
        }
    }

    /// Begins a stream for frames of `info`.
    fn start(&self, info: &VideoInfo) -> Result<(), String> {
        let workers = lock(&self.settings).workers;
        let running = Arc::new(Running::new(&self.graph()?, info, workers)?);
        let caps = running
            .output()
            .to_caps()
            .map_err(|error| error.to_string())?;
        gst::info!(LOG, imp = self, "results are {caps}");
        {
            let mut state = lock(&self.state);
            state.events.push(gst::event::Caps::new(&caps));
            state.running = Some(Arc::clone(&running));
            state.ends = false;
            state.flushing = false;
            state.flow = Ok(gst::FlowSuccess::Ok);
        }
        let this = self.obj().downgrade();
        let task = move || match this.upgrade() {
            Some(this) => this.imp().send_next(&running),
            None => std::thread::sleep(SOON),
        };
        let started = self
            .source
            .start_task(task)
            .map_err(|error| error.to_string());
        self.obj()
            .post_message(gst::message::Latency::builder().src(&*self.obj()).build())
            .ok();
        started
    }

    /// Begins a stream as the last one was.
    fn restart(&self) -> bool {
        let last = lock(&self.state).running.take();
        let Some(last) = last else {
            lock(&self.state).flushing = false;
            return true;
        };
        let started = self.start(last.input());
        if let Err(error) = &started {
            gst::element_imp_error!(self, gst::StreamError::Failed, ["{error}"]);
        }
        started.is_ok()
    }

    /// Waits until all results are sent on.
    fn drain(&self) {
        let mut state = lock(&self.state);
        let Some(running) = state.running.clone() else {
            return;
        };
        state.ends = true;
        running.end();
        while state.running.is_some() && !state.flushing && state.flow.is_ok() {
            let waited = self.drained.wait_timeout(state, SOON);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        let _ = self.source.stop_task();
    }

    /// Ends the stream without its results.
    fn stop(&self) {
        let _ = self.source.stop_task();
        let mut state = lock(&self.state);
        state
            .events
            .retain(|event| event.is_sticky() && event.type_() != gst::EventType::Segment);
        if !matches!(
            self.obj().current_state(),
            gst::State::Playing | gst::State::Paused
        ) {
            state.running = None;
        }
    }

    /// Sends what waits for a frame that does not come.
    fn send_events(&self) {
        let events = std::mem::take(&mut lock(&self.state).events);
        for event in events {
            self.source.push_event(event);
        }
    }

    /// Sends the next result on; what the task does.
    fn send_next(&self, running: &Running) {
        let flow = match running.pull() {
            Pulled::Late => match lock(&self.state).flushing {
                true => Err(gst::FlowError::Flushing),
                false => return,
            },
            Pulled::Done(..) if lock(&self.state).flushing => Err(gst::FlowError::Flushing),
            Pulled::Done(events, buffer) => {
                for event in events {
                    self.source.push_event(event);
                }
                self.source.push(buffer)
            }
            Pulled::Ended => {
                let mut state = lock(&self.state);
                if !state.ends {
                    state.flow = Err(gst::FlowError::Error);
                    drop(state);
                    gst::element_imp_error!(
                        self,
                        gst::StreamError::Failed,
                        ["a frame could not be computed"]
                    );
                } else {
                    state.running = None;
                }
                self.drained.notify_all();
                let _ = self.source.pause_task();
                return;
            }
        };
        if let Err(error) = flow {
            lock(&self.state).flow = Err(error);
            self.drained.notify_all();
            let _ = self.source.pause_task();
            if error == gst::FlowError::NotLinked || error == gst::FlowError::NotNegotiated {
                gst::element_imp_error!(
                    self,
                    gst::StreamError::Failed,
                    ["results cannot be sent on: {error:?}"]
                );
            }
        }
    }

    fn query(&self, pad: &gst::Pad, query: &mut gst::QueryRef) -> bool {
        if let gst::QueryViewMut::Latency(latency) = query.view_mut() {
            let mut of_input = gst::query::Latency::new();
            if !self.sink.peer_query(&mut of_input) {
                return false;
            }
            let (live, min, max) = of_input.result();
            let running = lock(&self.state).running.clone();
            let own = running.map_or(gst::ClockTime::ZERO, |running| running.latency());
            latency.set(live, min + own, max.map(|max| max + own));
            return true;
        }
        gst::Pad::query_default(pad, Some(&*self.obj()), query)
    }
}
