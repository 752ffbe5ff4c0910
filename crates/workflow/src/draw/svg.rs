//! The steps as a self-contained SVG: no script, no font, no other file.

use std::fmt::Write as _;

use super::boxes::{BoxShape, DiagramBox};
use super::layout::{Connector, Diagram, layout};
use crate::definition::AgentDefinition;

/// The corner radius of a connector, in pixels.
const ROUND: f64 = 8.0;

const STYLE: &str = "text{font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2937}\
.title{font-size:13px;font-weight:600}.small{font-size:11px;fill:#4b5563}\
.label{font-size:11px;fill:#374151;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.box{fill:#f3f6fb;stroke:#5b7199;stroke-width:1.3}.entry{fill:#dcebff;stroke:#1d5fbf;stroke-width:2}\
.gateway{fill:#fff6db;stroke:#a87b14;stroke-width:1.3}.part{fill:#fff;stroke:#5b7199;stroke-dasharray:5 3}\
.end{fill:#1f2937;stroke:#1f2937}.end-text{fill:#fff}\
.way{fill:none;stroke:#5b6472;stroke-width:1.3}.aside{stroke:#b4541f;stroke-dasharray:5 4}";

pub fn svg(definition: &AgentDefinition) -> String {
    let diagram = layout(definition);
    let name = escaped(definition.name());
    let Diagram { left, width, height, .. } = diagram;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"{left:.1} 0 {width:.1} {height:.1}\" \
         width=\"{width:.0}\" height=\"{height:.0}\">\n<title>The steps of {name}</title>\n<style>{STYLE}</style>\n\
         <defs>{}{}</defs>\n<rect x=\"{left:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"#fff\"/>\n",
        arrow("on", "#5b6472"),
        arrow("aside", "#b4541f"),
    );
    for connector in &diagram.connectors {
        out.push_str(&line(connector));
    }
    for diagram_box in &diagram.boxes {
        out.push_str(&shape(diagram_box));
        out.push_str(&self_loop(diagram_box));
    }
    for connector in &diagram.connectors {
        out.push_str(&label(connector));
    }
    out.push_str("</svg>\n");
    out
}

fn arrow(id: &str, colour: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
         <path d=\"M0 0.6 8 4 0 7.4z\" fill=\"{colour}\"/></marker>"
    )
}

fn line(connector: &Connector) -> String {
    let (class, arrow) = if connector.is_forward { ("way", "on") } else { ("way aside", "aside") };
    format!("<path class=\"{class}\" marker-end=\"url(#{arrow})\" d=\"{}\"/>\n", rounded(&connector.points))
}

/// A path along these points, with round corners.
fn rounded(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    let last = points.len().saturating_sub(1);
    for (at, (x, y)) in points.iter().copied().enumerate() {
        // Writing to a string cannot fail.
        let _ = match at {
            0 => write!(path, "M{x:.1} {y:.1}"),
            at if at == last => write!(path, "L{x:.1} {y:.1}"),
            at => {
                let (before, after) = (towards((x, y), points[at - 1]), towards((x, y), points[at + 1]));
                write!(path, "L{:.1} {:.1}Q{x:.1} {y:.1} {:.1} {:.1}", before.0, before.1, after.0, after.1)
            }
        };
    }
    path
}

/// A point at the distance of [`ROUND`] towards another one, at most halfway.
fn towards(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    let share = if length > 0.0 { (ROUND / length).min(0.5) } else { 0.0 };
    (from.0 + dx * share, from.1 + dy * share)
}

fn label(connector: &Connector) -> String {
    if connector.label.is_empty() {
        return String::new();
    }
    let anchor = if connector.label_ends { "end" } else { "start" };
    let (x, y) = connector.label_at;
    let text = escaped(&connector.label);
    format!("<text class=\"label\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>\n")
}

fn shape(diagram_box: &DiagramBox) -> String {
    let DiagramBox { x, y, width, height, .. } = *diagram_box;
    let (left, middle) = (x - width / 2.0, y + height / 2.0);
    let rectangle = |class: &str, round: f64| {
        format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\"/>"
        )
    };
    let (outline, class) = match diagram_box.shape {
        BoxShape::Entry => (rectangle("entry", 8.0), "title"),
        BoxShape::Step => (rectangle("box", 8.0), "title"),
        BoxShape::SubStep => (rectangle("part", 8.0), "title"),
        BoxShape::End => (rectangle("end", height / 2.0), "title end-text"),
        BoxShape::Gateway => {
            let points = format!(
                "{left:.1},{middle:.1} {x:.1},{y:.1} {:.1},{middle:.1} {x:.1},{:.1}",
                left + width,
                y + height
            );
            (format!("<polygon class=\"gateway\" points=\"{points}\"/>"), "title")
        }
    };
    let first = middle + 4.5 - 7.5 * diagram_box.lines.len() as f64;
    let mut out = format!(
        "{outline}\n<text class=\"{class}\" x=\"{x:.1}\" y=\"{first:.1}\" text-anchor=\"middle\">{}</text>\n",
        escaped(&diagram_box.title)
    );
    for (number, text) in diagram_box.lines.iter().enumerate() {
        let y = first + 15.0 * (number + 1) as f64;
        let text = escaped(text);
        out.push_str(&format!(
            "<text class=\"small\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>\n"
        ));
    }
    out
}

/// The loop of a step with an edge to itself.
fn self_loop(diagram_box: &DiagramBox) -> String {
    if diagram_box.loops.is_empty() {
        return String::new();
    }
    let (right, middle) = (diagram_box.x + diagram_box.width / 2.0, diagram_box.y + diagram_box.height / 2.0);
    let slope = if diagram_box.shape == BoxShape::Gateway { diagram_box.width * 0.06 } else { 0.0 };
    let mut out = format!(
        "<path class=\"way aside\" marker-end=\"url(#aside)\" d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\"/>\n",
        right - slope,
        middle - 8.0,
        right + 32.0,
        middle - 16.0,
        right + 32.0,
        middle + 16.0,
        right - slope,
        middle + 8.0,
    );
    for (number, text) in diagram_box.loops.iter().enumerate() {
        let y = middle + 4.0 + 14.0 * (number as f64 - (diagram_box.loops.len() - 1) as f64 / 2.0);
        let text = escaped(text);
        out.push_str(&format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{y:.1}\">{text}</text>\n",
            right + 30.0
        ));
    }
    out
}

/// Escapes text for XML.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
