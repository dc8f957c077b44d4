//! The drawings of the page, as SVG in the page itself.
//!
//! Invariant: a drawing says nothing that does not stand beside it in figures; colours are the style
//! sheet's. Called by the page.

use epitome_lab::MeanInterval;

use super::text::{escaped, spoken};
use crate::figure::short;

/// The size of a drawing, and what its axes take of it, in units of the drawing.
const WIDTH: f64 = 1040.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 100.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 44.0;
/// The size of a small drawing.
const PANEL_WIDTH: f64 = 320.0;
const PANEL_HEIGHT: f64 = 110.0;
/// About the width of a letter.
const LETTER: f64 = 7.2;

/// A strategy among others: what its best is of, and what it costs.
pub(super) struct Dot<'a> {
    pub(super) class: &'a str,
    pub(super) name: &'a str,
    pub(super) x: f64,
    pub(super) score: MeanInterval,
    /// With what a search finds.
    pub(super) searched: Option<MeanInterval>,
}

/// What the figure of an axis is.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    Tokens,
    /// A part of something.
    Share,
}

impl Axis {
    fn says(self, value: f64) -> String {
        match self {
            Self::Tokens => short(value.round() as u64),
            Self::Share => format!("{value:.1}"),
        }
    }
}

/// Strategies by what they keep (upwards) and what they take (to the right).
pub(super) fn scatter(dots: &[Dot<'_>], axis: Axis, below: &str) -> String {
    let most = dots.iter().map(|dot| dot.x).fold(f64::MIN_POSITIVE, f64::max);
    let plot = Plot { most: [rounded(most), 1.0] };
    let mut out = plot.frame(axis, Axis::Share, below, "score");
    for dot in dots {
        let Dot { class, name, x, score, searched } = dot;
        let [at, y] = plot.place([*x, score.mean]);
        out.push_str(&format!(
            r#"<g class="{class}"><title>{}: {}"#,
            escaped(name),
            spoken(*score)
        ));
        if let Some(found) = searched {
            out.push_str(&format!("; with a search {}", spoken(*found)));
        }
        out.push_str("</title>");
        if let Some([low, high]) = score.interval {
            let [low, high] = [low, high].map(|share| plot.place([*x, share])[1]);
            out.push_str(&format!(r#"<path class="whisker" d="M{at:.1} {low:.1}V{high:.1}"/>"#));
        }
        if let Some(found) = searched.filter(|found| found.mean > score.mean) {
            let above = plot.place([*x, found.mean])[1];
            out.push_str(&format!(r#"<path class="whisker" d="M{at:.1} {y:.1}V{above:.1}"/><circle class="ring" cx="{at:.1}" cy="{above:.1}" r="4"/>"#));
        }
        out.push_str(&format!(r#"<circle class="dot" cx="{at:.1}" cy="{y:.1}" r="6"/></g>"#));
    }
    out.push_str(&labels(dots, &plot));
    out + "</svg>"
}

/// The names beside the dots, each where it lies on no dot and on no other name.
fn labels(dots: &[Dot<'_>], plot: &Plot) -> String {
    let places: Vec<_> = dots.iter().map(|dot| plot.place([dot.x, dot.score.mean])).collect();
    let mut taken: Vec<_> = places.iter().map(|&[x, y]| Area::around([x, y], 7.0)).collect();
    let mut out = String::new();
    for (dot, [x, y]) in dots.iter().zip(places) {
        let wide = dot.name.chars().count() as f64 * LETTER;
        let [right, left, middle] = [x + 10.0, x - 10.0 - wide, x - wide / 2.0];
        let sides = [[right, y], [left, y], [middle, y + 16.0], [middle, y - 16.0]];
        let further = [[right, y + 14.0], [right, y - 14.0], [left, y + 14.0], [left, y - 14.0]];
        let mut areas = sides.into_iter().chain(further).map(|at| Area::of_text(at, wide));
        let is_free = |area: &Area| !taken.iter().any(|other| area.meets(other));
        let area = areas.find(is_free).unwrap_or_else(|| Area::of_text([right, y], wide));
        let (name, baseline) = (escaped(dot.name), area.bottom - 4.0);
        out.push_str(&format!(
            r#"<text class="name" x="{:.1}" y="{baseline:.1}">{name}</text>"#,
            area.left
        ));
        taken.push(area);
    }
    out
}

/// A piece of a drawing.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn around([x, y]: [f64; 2], by: f64) -> Self {
        Self { left: x - by, right: x + by, top: y - by, bottom: y + by }
    }

    /// Of a line of text that begins at a place, half way up.
    fn of_text([left, y]: [f64; 2], wide: f64) -> Self {
        Self { left, right: left + wide, top: y - 8.0, bottom: y + 8.0 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Tokens of prompts, turn by turn, below the limit; behind them the same without compression. What
/// is larger leaves the drawing.
pub(super) fn curve(prompts: &[u64], raw: &[u64], limit: u64) -> String {
    let most = limit as f64 * 1.15;
    let place = |turn: usize, tokens: u64| {
        let x = turn as f64 / prompts.len().saturating_sub(1).max(1) as f64 * PANEL_WIDTH;
        [x, (1.0 - tokens as f64 / most) * PANEL_HEIGHT]
    };
    let line = |prompts: &[u64]| {
        let mut path = String::new();
        let mut pen = 'M';
        for (turn, &tokens) in prompts.iter().enumerate() {
            // Nothing was sent, or more than fits.
            if tokens == 0 || tokens as f64 > most {
                pen = 'M';
                continue;
            }
            let [x, y] = place(turn, tokens);
            path.push_str(&format!("{pen}{x:.1} {y:.1}"));
            pen = 'L';
        }
        path
    };
    let bound = place(0, limit)[1];
    format!(
        r#"<svg class="panel" viewBox="0 0 {PANEL_WIDTH} {PANEL_HEIGHT}" preserveAspectRatio="none" role="img"><path class="grid" d="M0 {PANEL_HEIGHT}H{PANEL_WIDTH}"/><path class="limit" d="M0 {bound:.1}H{PANEL_WIDTH}"/><path class="raw" d="{}"/><path class="curve" d="{}"/></svg>"#,
        line(raw),
        line(prompts),
    )
}

/// Where values lie in a drawing; both axes begin at 0.
struct Plot {
    most: [f64; 2],
}

impl Plot {
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let [across, up] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
        [LEFT + x / self.most[0] * across, HEIGHT - BOTTOM - y / self.most[1] * up]
    }

    /// The opened drawing with its lines and what they say.
    fn frame(&self, across: Axis, up: Axis, below: &str, beside: &str) -> String {
        let mut out = format!(r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">"#);
        let [bottom, end] = [HEIGHT - BOTTOM, WIDTH - RIGHT];
        for step in steps(self.most[1]) {
            let y = self.place([0.0, step])[1];
            out.push_str(&format!(r#"<path class="grid" d="M{LEFT} {y:.1}H{end}"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT - 8.0,
                y + 4.0,
                up.says(step)));
        }
        for step in steps(self.most[0]) {
            let x = self.place([step, 0.0])[0];
            out.push_str(&format!(
                r#"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 18.0,
                across.says(step)
            ));
        }
        let middle = f64::midpoint(LEFT, end);
        out.push_str(&format!(r#"<text x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text><text x="{LEFT}" y="11">{}</text>"#,
            bottom + 36.0,
            escaped(below),
            escaped(beside)));
        out
    }
}

/// Some round figures from 0 on, up to `most`.
fn steps(most: f64) -> impl Iterator<Item = f64> {
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|by| by * 10f64.powf((most / 5.0).log10().floor()))
        .into_iter()
        .find(|step| most / step <= 6.0)
        .unwrap_or(most);
    (0..).map(move |at| f64::from(at) * step).take_while(move |at| *at <= most * 1.001)
}

/// The next figure above that an axis may end with.
fn rounded(most: f64) -> f64 {
    let step = steps(most).nth(1).unwrap_or(most);
    (most / step * 0.999).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_with_round_figures() {
        let of = |most| steps(most).collect::<Vec<_>>();
        assert_eq!(of(1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(of(4700.0), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!([rounded(4700.0), rounded(0.84)], [5000.0, 1.0]);
    }

    #[test]
    fn a_dot_lies_where_its_figures_say() {
        let score = MeanInterval { mean: 0.5, interval: Some([0.4, 0.6]) };
        let dot = Dot { class: "c0", name: "a<b", x: 0.5, score, searched: None };
        let drawn = scatter(&[dot], Axis::Share, "cost");
        // At the right end of the axis, half way up.
        assert!(drawn.contains(r#"<circle class="dot" cx="940.0" cy="160.0" r="6"/>"#), "{drawn}");
        assert!(drawn.contains("a&lt;b: 0.500, 95 % between 0.40 and 0.60"), "{drawn}");
    }

    #[test]
    fn names_lie_on_nothing_else() {
        let score = |mean| MeanInterval { mean, interval: None };
        let dot = |name, x, mean| Dot { class: "c0", name, x, score: score(mean), searched: None };
        let dots = [dot("default", 0.5, 0.5), dot("ollm", 0.5, 0.5), dot("staged", 0.52, 0.5)];
        let drawn = labels(&dots, &Plot { most: [1.0, 1.0] });
        let places: Vec<_> = drawn.split("<text class=\"name\" ").skip(1).collect();
        assert_eq!(places.len(), 3);
        for (at, place) in places.iter().enumerate() {
            let place = place.split('>').next();
            assert!(
                places[at + 1..].iter().all(|other| other.split('>').next() != place),
                "{drawn}"
            );
        }
    }

    #[test]
    fn a_curve_breaks_off_where_nothing_was_sent() {
        let drawn = curve(&[100, 200, 0, 100, 5000, 100], &[100, 200, 300], 800);
        let path = drawn.split(r#"class="curve" d=""#).nth(1).unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (3, 1), "{path}");
    }
}
