//! Chains of sound in a graph, which `ffmpeg` filters: `[0:a]atempo=2[a]`.

use super::text::Span;
use super::wiring::Labelled;

/// The graph without its chain of sound, and that chain as for `-af`.
pub(super) fn apart(text: &str) -> (String, Option<String>) {
    let (mut video, mut sound) = (Vec::new(), Vec::new());
    for chain in Span::new(text).split(';') {
        match of_sound(chain) {
            Some(filters) => sound.push(filters),
            None => video.push(chain.text()),
        }
    }
    match &sound[..] {
        // The sound of a file is one stream.
        [one] if !video.is_empty() => (video.join(";"), Some(one.clone())),
        _ => (text.to_owned(), None),
    }
}

/// The filters of a chain that begins with the sound of the first input.
fn of_sound(chain: Span<'_>) -> Option<String> {
    let mut filters = Vec::new();
    for (at, part) in chain.split(',').enumerate() {
        let labelled = Labelled::parse(part).ok()?;
        match (at, &labelled.before[..]) {
            (0, [label]) if ["0:a", "0:a:0"].contains(&label.text()) => {}
            (1.., []) => {}
            _ => return None,
        }
        filters.push(labelled.filter.text());
    }
    Some(filters.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_is_taken_apart() {
        let (video, sound) = apart("[0:v]setpts=PTS/2[v];[0:a]atempo=2,volume=0.5[a]");
        assert_eq!(video, "[0:v]setpts=PTS/2[v]");
        assert_eq!(sound.as_deref(), Some("atempo=2,volume=0.5"));
        for text in [
            "[0:a]atempo=2",
            "hflip",
            "[0:a]a[x];[0:a]b[y];hflip",
            "[1:a]atempo=2;hflip",
        ] {
            assert_eq!(apart(text), (text.to_owned(), None));
        }
    }
}
