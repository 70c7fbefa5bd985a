//! Three kinds of charts as SVG text: grouped bars, lines, and points.

use std::fmt::Write;

use crate::markup::escape;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 34.0;
/// Colours that colour-blind readers can tell apart (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a200",
];

/// A named series with a value, or none, for each position on the horizontal axis.
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// One for each position.
    pub values: Vec<Option<f64>>,
}

/// Bars, a group for each of `groups`. `reference` draws a line across, e.g. at 1.
pub fn bars(groups: &[String], series: &[Series], unit: &str, reference: Option<f64>) -> String {
    let mut svg = Chart::new(series, unit, reference);
    let group = svg.plot_width() / groups.len().max(1) as f64;
    let bar = group * 0.8 / series.len().max(1) as f64;
    for (g, name) in groups.iter().enumerate() {
        let x = LEFT + group * g as f64;
        svg.label(x + group / 2.0, name);
        for (i, s) in series.iter().enumerate() {
            let Some(value) = s.values.get(g).copied().flatten() else {
                continue;
            };
            let (bx, y) = (x + group * 0.1 + bar * i as f64, svg.y(value));
            let clipped = value > svg.top;
            let _ = write!(
                svg.text,
                r#"<rect x="{bx:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="{c}"><title>{n}, {name}: {value:.3} {unit}</title></rect>"#,
                w = bar * 0.92,
                h = HEIGHT - BOTTOM - y,
                c = COLOURS[i % COLOURS.len()],
                n = escape(&s.name),
                name = escape(name),
                unit = escape(unit),
            );
            if clipped {
                let _ = write!(
                    svg.text,
                    r#"<text x="{:.1}" y="{:.1}" class="clip">{value:.0}</text>"#,
                    bx + bar / 2.0,
                    TOP - 4.0
                );
            }
        }
    }
    svg.finish()
}

/// Lines over positions.
pub fn lines(positions: &[String], series: &[Series], unit: &str) -> String {
    let mut svg = Chart::new(series, unit, None);
    let last = positions.len().saturating_sub(1).max(1) as f64;
    let x = |i: usize| LEFT + 20.0 + (WIDTH - LEFT - 60.0) * i as f64 / last;
    for (i, position) in positions.iter().enumerate() {
        svg.label(x(i), position);
    }
    for (i, s) in series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let points: Vec<(f64, f64, f64)> = s
            .values
            .iter()
            .enumerate()
            .filter_map(|(p, v)| v.map(|v| (x(p), svg.y(v), v)))
            .collect();
        let path: Vec<String> = points
            .iter()
            .map(|(x, y, _)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = write!(
            svg.text,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
            path.join(" ")
        );
        for (x, y, v) in points {
            let _ = write!(
                svg.text,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{colour}"><title>{}: {v:.3} {}</title></circle>"#,
                escape(&s.name),
                escape(unit)
            );
        }
    }
    svg.finish()
}

/// Points of one kind.
pub struct Dots {
    /// Name in the legend.
    pub name: String,
    /// In any order.
    pub dots: Vec<Dot>,
}

/// A point.
pub struct Dot {
    /// Right and up, neither negative.
    pub at: (f64, f64),
    /// What stands beside it; may be empty.
    pub label: String,
    /// What is shown to a reader that points at it.
    pub about: String,
}

/// Points over two axes that begin at 0.
pub fn points(series: &[Dots], across: &str, up: &str) -> String {
    let heads: Vec<Series> = series
        .iter()
        .map(|s| Series {
            name: s.name.clone(),
            values: s.dots.iter().map(|dot| Some(dot.at.1)).collect(),
        })
        .collect();
    let all = || series.iter().flat_map(|s| &s.dots);
    let right = nice(all().map(|dot| dot.at.0).fold(0.0, f64::max));
    let top = nice(all().map(|dot| dot.at.1).fold(0.0, f64::max));
    let mut svg = Chart::framed(&heads, up, top);
    let x = |value: f64| LEFT + (WIDTH - LEFT - 60.0) * (value / right).clamp(0.0, 1.0);
    for step in 0..=4 {
        let value = right * f64::from(step) / 4.0;
        svg.label(x(value), &format!("{} {across}", number(value)));
    }
    let mut taken: Vec<Area> = Vec::new();
    let placed: Vec<(usize, &Dot, (f64, f64))> = series
        .iter()
        .enumerate()
        .flat_map(|(i, s)| s.dots.iter().map(move |dot| (i, dot)))
        .map(|(i, dot)| (i, dot, (x(dot.at.0), svg.y(dot.at.1))))
        .collect();
    for (i, dot, (cx, cy)) in &placed {
        taken.push(Area::around(*cx, *cy));
        let _ = write!(
            svg.text,
            r#"<circle cx="{cx:.1}" cy="{cy:.1}" r="4" fill="{}"><title>{}</title></circle>"#,
            COLOURS[i % COLOURS.len()],
            escape(&dot.about)
        );
    }
    for (_, dot, at) in placed.iter().filter(|(_, dot, _)| !dot.label.is_empty()) {
        // A label that would lie on something wherever it is put is left out.
        let places = Area::beside(*at, &dot.label).into_iter();
        let free = |place: &Area| {
            place.left >= LEFT
                && place.bottom <= HEIGHT - BOTTOM
                && place.top >= 0.0
                && place.right <= WIDTH
                && !taken.iter().any(|t| t.touches(place))
        };
        if let Some(place) = places.into_iter().find(free) {
            let _ = write!(
                svg.text,
                r#"<text x="{:.1}" y="{:.1}">{}</text>"#,
                place.left,
                place.bottom - 2.0,
                escape(&dot.label)
            );
            taken.push(place);
        }
    }
    svg.finish()
}

/// Where something lies.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    /// Around a dot.
    fn around(x: f64, y: f64) -> Area {
        Area {
            left: x - 4.0,
            right: x + 4.0,
            top: y - 4.0,
            bottom: y + 4.0,
        }
    }

    /// Where a label of a dot can be: above and below, right and left, and further off.
    fn beside((x, y): (f64, f64), label: &str) -> [Area; 6] {
        let width = 7.2 * label.chars().count() as f64;
        [
            (5.0, -3.0),
            (5.0, 16.0),
            (-5.0 - width, -3.0),
            (-5.0 - width, 16.0),
            (5.0, -16.0),
            (5.0, 29.0),
        ]
        .map(|(right, down)| Area {
            left: x + right,
            right: x + right + width,
            top: y + down - 11.0,
            bottom: y + down,
        })
    }

    fn touches(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

struct Chart {
    text: String,
    /// Value at the top of the vertical axis.
    top: f64,
}

impl Chart {
    /// The frame of a chart: axis, legend, and a line at `reference`.
    fn new(series: &[Series], unit: &str, reference: Option<f64>) -> Self {
        let mut chart = Chart::framed(series, unit, top(series, reference));
        if let Some(at) = reference {
            chart.reference(at);
        }
        chart
    }

    /// Axis and legend, up to `top`.
    fn framed(series: &[Series], unit: &str, top: f64) -> Self {
        let mut chart = Chart {
            text: String::new(),
            top,
        };
        let _ = write!(
            chart.text,
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><text x="4" y="{:.0}" class="unit">{}</text>"#,
            TOP - 16.0,
            escape(unit)
        );
        chart.grid();
        chart.legend(series);
        chart
    }

    fn grid(&mut self) {
        for step in 0..=4 {
            let value = self.top * f64::from(step) / 4.0;
            let y = self.y(value);
            let _ = write!(
                self.text,
                r#"<line x1="{LEFT}" x2="{:.0}" y1="{y:.1}" y2="{y:.1}" class="grid"/><text x="{:.0}" y="{:.1}" class="tick">{}</text>"#,
                WIDTH - 10.0,
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
    }

    fn reference(&mut self, at: f64) {
        let y = self.y(at);
        let _ = write!(
            self.text,
            r#"<line x1="{LEFT}" x2="{:.0}" y1="{y:.1}" y2="{y:.1}" class="reference"/>"#,
            WIDTH - 10.0
        );
    }

    fn legend(&mut self, series: &[Series]) {
        let width = |s: &Series| 26.0 + 7.4 * s.name.chars().count() as f64;
        let all: f64 = series.iter().map(width).sum();
        let mut x = (LEFT + 60.0).min(WIDTH - all).max(LEFT);
        for (i, s) in series.iter().enumerate() {
            let _ = write!(
                self.text,
                r#"<rect x="{x:.0}" y="4" width="10" height="10" fill="{}"/><text x="{:.0}" y="13" class="legend">{}</text>"#,
                COLOURS[i % COLOURS.len()],
                x + 14.0,
                escape(&s.name)
            );
            x += width(s);
        }
    }

    fn plot_width(&self) -> f64 {
        WIDTH - LEFT - 10.0
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value / self.top).clamp(0.0, 1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    }

    fn label(&mut self, x: f64, name: &str) {
        let y = HEIGHT - BOTTOM + 18.0;
        let _ = write!(
            self.text,
            r#"<text x="{x:.1}" y="{y:.0}" class="label">{}</text>"#,
            escape(name)
        );
    }

    fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }
}

/// The value at the top of the axis. A bar many times the others would flatten them, so it is cut.
fn top(series: &[Series], reference: Option<f64>) -> f64 {
    let values = series.iter().flat_map(|s| s.values.iter().flatten());
    let mut values: Vec<f64> = values.copied().collect();
    values.sort_by(f64::total_cmp);
    let largest = values.last().copied().unwrap_or(1.0);
    let largest = largest.max(reference.unwrap_or(0.0));
    let typical = match reference {
        Some(reference) => values
            .get(values.len() / 2)
            .map_or(reference, |middle| middle.max(reference)),
        None => values.get(values.len() * 3 / 4).copied().unwrap_or(1.0),
    };
    nice(if largest > 6.0 * typical {
        3.0 * typical
    } else {
        largest
    })
}

/// The next larger of 1, 1.5, 2, 3, 4, 5, 6, 8 times a power of ten.
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps
        .iter()
        .map(|s| s * power)
        .find(|s| *s >= value * 0.999)
        .unwrap_or(value)
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(
            [0.9, 1.0, 1.2, 7.1, 95.0].map(nice),
            [1.0, 1.0, 1.5, 8.0, 100.0]
        );
        assert_eq!(number(0.25), "0.25");
        assert_eq!(number(3.0), "3");
    }

    #[test]
    fn points_have_labels_unless_these_would_touch() {
        let dot = |x: f64, y: f64, label: &str| Dot {
            at: (x, y),
            label: label.into(),
            about: "a<b".into(),
        };
        let svg = points(
            &[Dots {
                name: "front".into(),
                dots: vec![
                    dot(1.0, 1.0, "one"),
                    dot(0.1, 2.0, "three"),
                    dot(0.2, 0.5, ""),
                ],
            }],
            "mm",
            "times",
        );
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(
            svg.contains(">one</text>") && svg.contains(">three</text>"),
            "{svg}"
        );
        assert!(
            svg.contains("a&lt;b") && svg.contains(">1 mm</text>"),
            "{svg}"
        );
        let crowd = Dots {
            name: "crowd".into(),
            dots: (0..20).map(|_| dot(1.0, 1.0, "label")).collect(),
        };
        let svg = points(&[crowd], "mm", "times");
        let labels = svg.matches(">label</text>").count();
        assert!((1..=6).contains(&labels), "{labels}");
    }

    #[test]
    fn a_bar_beyond_the_axis_is_cut_and_written() {
        let series = [Series {
            name: "a<b".into(),
            values: vec![Some(1.0), Some(1.1), Some(0.9), Some(50.0), None],
        }];
        let groups: Vec<String> = "vwxyz".chars().map(String::from).collect();
        let svg = bars(&groups, &series, "x", Some(1.0));
        assert_eq!(svg.matches("<rect").count(), 1 + 4);
        assert!(svg.contains(">50</text>") && svg.contains("a&lt;b"));
    }
}
