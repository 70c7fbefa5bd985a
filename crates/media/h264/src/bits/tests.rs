use super::*;

#[test]
fn codes_are_those_of_the_tables() {
    // Table 9-2 and table 9-3.
    let mut bits = BitWriter::new();
    for value in 0..5 {
        bits.ue(value);
    }
    for value in [0, 1, -1, 2, -2] {
        bits.se(value);
    }
    bits.trailing_bits();
    let expected = "1 010 011 00100 00101 1 010 011 00100 00101 1";
    let text: String = bits.bytes().iter().map(|b| format!("{b:08b}")).collect();
    let expected = expected.replace(' ', "");
    assert_eq!(text, format!("{expected:0<40}"));
}

#[test]
fn bits_come_out_in_order() {
    // Numbers of all lengths, so that they lie across the ends of words in all ways.
    let mut bits = BitWriter::new();
    let mut text = String::new();
    let mut number = 1_u32;
    for round in 0..2000 {
        let length = round * 7 % 33;
        number = number.wrapping_mul(0x9e37_79b1).rotate_left(7) ^ round;
        let value = (u64::from(number) & ((1 << length) - 1)) as u32;
        bits.put(value, length);
        if length > 0 {
            text += &format!("{value:0width$b}", width = length as usize);
        }
        assert_eq!(bits.bits(), text.len() as u64);
        if round % 100 == 99 {
            bits.align(true);
            while !text.len().is_multiple_of(8) {
                text.push('1');
            }
            bits.bytes().push(0xa5);
            text += "10100101";
        }
    }
    let written: String = bits.bytes().iter().map(|b| format!("{b:08b}")).collect();
    assert!(written == text);
    bits.clear();
    assert_eq!(bits.bits(), 0);
    assert!(bits.bytes().is_empty());
}

#[test]
fn long_codes_have_twice_their_bits() {
    for value in [0xfffe, 0xffff, 0x1_0000, 0x7fff_ffff, u32::MAX - 1] {
        let mut bits = BitWriter::new();
        bits.ue(value);
        let length = 32 - (value + 1).leading_zeros();
        assert_eq!(bits.bits(), u64::from(2 * length - 1));
        bits.align(false);
        let read = bits
            .bytes()
            .iter()
            .fold(0_u128, |all, &b| all << 8 | u128::from(b));
        let code = read >> (bits.bits() as u32 - (2 * length - 1));
        assert_eq!(code, u128::from(value) + 1);
    }
    let mut bits = BitWriter::new();
    bits.se(i32::MAX);
    bits.se(i32::MIN + 1);
    assert_eq!(bits.bits(), 126);
}

/// Clause 7.4.1.1, a byte at a time.
fn escaped(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in payload {
        if byte <= 3 && out.ends_with(&[0, 0]) {
            out.push(3);
        }
        out.push(byte);
    }
    out
}

#[test]
fn three_bytes_that_mean_something_else_do_not_occur() {
    let mut number = 7_u32;
    for round in 0..4000 {
        let length = 1 + round % 71;
        let mut payload: Vec<u8> = (0..length)
            .map(|_| {
                number = number.wrapping_mul(0x9e37_79b1).rotate_left(9) ^ 0x5a5a;
                match number >> 8 & 7 {
                    0..4 => 0,
                    4 | 5 => (number >> 12 & 3) as u8,
                    _ => (number >> 16) as u8,
                }
            })
            .collect();
        payload.push(0x80);
        let mut out = vec![9];
        write_nal_unit(&mut out, 2, NalType::Slice, &payload);
        assert_eq!(out[..6], [9, 0, 0, 0, 1, 0x41]);
        assert_eq!(out[6..], escaped(&payload));
    }
    // Few zeros, as in most streams.
    let payload: Vec<u8> = (0..5000_u32)
        .map(|i| if i % 97 < 3 { 0 } else { 0x80 | i as u8 })
        .collect();
    let mut out = Vec::new();
    write_nal_unit(&mut out, 0, NalType::Sei, &payload);
    assert_eq!(out[5..], escaped(&payload));
}
