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
