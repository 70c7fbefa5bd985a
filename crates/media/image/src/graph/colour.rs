//! Colours as arguments: a name, `#RRGGBB`, `0xRRGGBB`, or a level of grey from 0 to 1.

use crate::stage::{Component, Plane};

/// Names and their codes of red, green and blue, as in FFmpeg.
const NAMES: [(&str, u32); 13] = [
    ("black", 0x00_0000),
    ("white", 0xff_ffff),
    ("gray", 0x80_8080),
    ("grey", 0x80_8080),
    ("red", 0xff_0000),
    ("green", 0x00_8000),
    ("lime", 0x00_ff00),
    ("blue", 0x00_00ff),
    ("yellow", 0xff_ff00),
    ("cyan", 0x00_ffff),
    ("magenta", 0xff_00ff),
    ("orange", 0xff_a500),
    ("purple", 0x80_0080),
];

/// Red, green and blue from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colour([f32; 3]);

impl Colour {
    /// Reads a colour; `None` if it is none.
    pub fn parse(text: &str) -> Option<Colour> {
        if let Ok(grey) = text.parse::<f32>() {
            return (0.0..=1.0).contains(&grey).then_some(Colour([grey; 3]));
        }
        let named = NAMES.iter().find(|(name, _)| *name == text);
        let hex = || {
            let digits = text.strip_prefix("0x").or(text.strip_prefix('#'))?;
            let plain = digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            u32::from_str_radix(digits, 16).ok().filter(|_| plain)
        };
        let code = named.map(|(_, code)| *code).or_else(hex)?;
        let part = |shift: u32| (code >> shift & 0xff) as f32 / 255.0;
        Some(Colour([part(16), part(8), part(0)]))
    }

    /// Reads a colour and its opacity, from 0 to 1: after an `@`, as a fraction or as `0xAA`, or as two more digits.
    pub fn with_opacity(text: &str) -> Option<(Colour, f32)> {
        let code = |digits: &str| {
            let code = u8::from_str_radix(digits, 16).ok()?;
            (digits.len() == 2 && !digits.starts_with('+')).then_some(f32::from(code) / 255.0)
        };
        if let Some((colour, opacity)) = text.split_once('@') {
            let opacity = match opacity.strip_prefix("0x") {
                Some(digits) => code(digits)?,
                None => opacity.parse().ok()?,
            };
            let usable = (0.0..=1.0).contains(&opacity);
            return Some((Colour::parse(colour)?, opacity)).filter(|_| usable);
        }
        let digits = text.strip_prefix("0x").or(text.strip_prefix('#'));
        if digits.is_some_and(|d| d.len() == 8 && d.is_ascii()) {
            let (colour, opacity) = text.split_at(text.len() - 2);
            return Some((Colour::parse(colour)?, code(opacity)?));
        }
        Some((Colour::parse(text)?, 1.0))
    }

    /// The value on a plane, by BT.601, as FFmpeg's filters have it.
    ///
    /// # Errors
    /// The planes are of red, green and blue in an order that is not known, and the colour is no grey.
    pub fn on(self, plane: &Plane) -> Result<f32, String> {
        let Colour([red, green, blue]) = self;
        let luma = match red == green && green == blue {
            true => red,
            false => 0.299 * red + 0.587 * green + 0.114 * blue,
        };
        match plane.component {
            Component::Luma => Ok(luma),
            Component::Cb => Ok((blue - luma) / 1.772 + 0.5),
            Component::Cr => Ok((red - luma) / 1.402 + 0.5),
            Component::Rgb if luma == red && red == blue => Ok(luma),
            Component::Rgb => Err("on red, green and blue the colour must be a grey".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read() {
        assert_eq!(Colour::parse("red"), Colour::parse("#ff0000"));
        assert_eq!(Colour::parse("0x808080"), Colour::parse("gray"));
        assert_eq!(Colour::parse("0"), Colour::parse("black"));
        assert_eq!(Colour::parse("1"), Colour::parse("white"));
        let red = Colour::parse("red").unwrap();
        for (text, opacity) in [
            ("red", 1.0),
            ("red@0.25", 0.25),
            ("#ff0000@0x33", 0.2),
            ("0xff000066", 0.4),
            ("#ff0000ff", 1.0),
        ] {
            assert_eq!(Colour::with_opacity(text), Some((red, opacity)), "{text}");
        }
        for text in [
            "red@",
            "red@2",
            "red@0x1",
            "@0.5",
            "#ff0000+1",
            "#ff00001",
            "red@nan",
        ] {
            assert_eq!(Colour::with_opacity(text), None, "{text}");
        }
        for text in ["", "rde", "#ff00", "0x+12345", "1.5", "-0.1", "nan"] {
            assert_eq!(Colour::parse(text), None, "{text}");
        }
    }
}
