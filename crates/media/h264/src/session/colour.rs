//! Colour tags of sources as codes of the VUI (tables E-3 to E-5).

use evener_image::io::ffmpeg;

use crate::syntax::Colour;

/// Not specified.
const UNKNOWN: u8 = 2;

/// FFmpeg's names with their codes.
type Names = &'static [(&'static str, u8)];

const PRIMARIES: Names = &[
    ("bt709", 1),
    ("bt470m", 4),
    ("bt470bg", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("film", 8),
    ("bt2020", 9),
    ("smpte428", 10),
    ("smpte431", 11),
    ("smpte432", 12),
    ("ebu3213", 22),
];

const TRANSFERS: Names = &[
    ("bt709", 1),
    ("bt470m", 4),
    ("bt470bg", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("linear", 8),
    ("log100", 9),
    ("log316", 10),
    ("iec61966-2-4", 11),
    ("bt1361e", 12),
    ("iec61966-2-1", 13),
    ("bt2020-10", 14),
    ("bt2020-12", 15),
    ("smpte2084", 16),
    ("smpte428", 17),
    ("arib-std-b67", 18),
];

const MATRICES: Names = &[
    ("bt709", 1),
    ("fcc", 4),
    ("bt470bg", 5),
    ("smpte170m", 6),
    ("smpte240m", 7),
    ("ycgco", 8),
    ("bt2020nc", 9),
    ("bt2020c", 10),
    ("smpte2085", 11),
    ("chroma-derived-nc", 12),
    ("chroma-derived-c", 13),
    ("ictcp", 14),
];

/// Where chroma samples lie (figure E-1).
const SITINGS: Names = &[
    ("left", 0),
    ("center", 1),
    ("topleft", 2),
    ("top", 3),
    ("bottomleft", 4),
    ("bottom", 5),
];

fn code(names: Names, name: Option<&String>) -> Option<u8> {
    let name = name?;
    let found = names.iter().find(|(known, _)| known == name);
    found.map(|&(_, code)| code)
}

/// The codes of a source's tags; `None` if it has no tag that the VUI knows.
pub fn colour(tags: &ffmpeg::Colour) -> Option<Colour> {
    let [primaries, transfer, matrix] = [
        code(PRIMARIES, tags.primaries.as_ref()),
        code(TRANSFERS, tags.transfer.as_ref()),
        code(MATRICES, tags.space.as_ref()),
    ];
    primaries.or(transfer).or(matrix)?;
    Some(Colour {
        primaries: primaries.unwrap_or(UNKNOWN),
        transfer: transfer.unwrap_or(UNKNOWN),
        matrix: matrix.unwrap_or(UNKNOWN),
    })
}

/// Where chroma samples lie, if the source says so.
pub fn chroma_location(tags: &ffmpeg::Colour) -> Option<u8> {
    code(SITINGS, tags.siting.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_tagged_is_not_specified() {
        let mut tags = ffmpeg::Colour::default();
        assert_eq!((colour(&tags), chroma_location(&tags)), (None, None));
        tags.space = Some("smpte170m".to_owned());
        tags.siting = Some("topleft".to_owned());
        let codes = Colour {
            primaries: 2,
            transfer: 2,
            matrix: 6,
        };
        assert_eq!(
            (colour(&tags), chroma_location(&tags)),
            (Some(codes), Some(2))
        );
        tags.space = Some("a matrix of the future".to_owned());
        assert_eq!(colour(&tags), None);
    }
}
