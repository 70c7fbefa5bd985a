use super::*;

fn demand(width: u32, height: u32, references: u8, rate: (u32, u32)) -> Demand {
    Demand {
        profile: Profile::Main,
        width,
        height,
        references,
        picture_rate: Some(rate),
        bit_rate: None,
        buffer: None,
    }
}

fn lowest(demand: &Demand) -> &'static str {
    Level::lowest(demand).unwrap().name
}

#[test]
fn usual_sizes_have_the_levels_of_table_a_6() {
    // Sizes and the highest rate of each level, by the table of frame rates.
    assert_eq!(lowest(&demand(176, 144, 4, (15, 1))), "1");
    assert_eq!(lowest(&demand(176, 144, 4, (30, 1))), "1.1");
    assert_eq!(lowest(&demand(352, 288, 6, (15, 1))), "1.2");
    assert_eq!(lowest(&demand(352, 288, 1, (30, 1))), "1.3");
    assert_eq!(lowest(&demand(720, 576, 5, (25, 1))), "3");
    assert_eq!(lowest(&demand(1280, 720, 5, (30, 1))), "3.1");
    assert_eq!(lowest(&demand(1280, 720, 5, (60, 1))), "3.2");
    assert_eq!(lowest(&demand(1920, 1080, 4, (30000, 1001))), "4");
    assert_eq!(lowest(&demand(1920, 1080, 4, (60, 1))), "4.2");
    assert_eq!(lowest(&demand(1920, 1080, 5, (30, 1))), "5");
    assert_eq!(lowest(&demand(3840, 2160, 5, (30, 1))), "5.1");
    assert_eq!(lowest(&demand(3840, 2160, 5, (60, 1))), "5.2");
    assert_eq!(lowest(&demand(8192, 4320, 5, (120, 1))), "6.2");
    assert_eq!(lowest(&demand(128, 96, 1, (30, 1))), "1");
    assert_eq!(lowest(&demand(128, 96, 1, (300, 1))), "6");
}

#[test]
fn rates_of_bits_raise_the_level() {
    let mut demand = demand(176, 144, 1, (15, 1));
    let mut check = |profile, kbits: u64, level| {
        demand.profile = profile;
        demand.bit_rate = Some(kbits * 1000);
        demand.buffer = None;
        assert_eq!(lowest(&demand), level, "{kbits}");
    };
    // Factors of 1,200 and 1,500.
    check(Profile::ConstrainedBaseline, 76, "1");
    check(Profile::ConstrainedBaseline, 77, "1b");
    check(Profile::Main, 153, "1b");
    check(Profile::Main, 154, "1.1");
    check(Profile::High, 96, "1");
    check(Profile::High, 97, "1b");
    check(Profile::Main, 60_000, "4.1");
    check(Profile::Main, 60_001, "5");
    demand.bit_rate = None;
    demand.buffer = Some(175 * 1500 + 1);
    assert_eq!(lowest(&demand), "1b");
}

#[test]
fn what_exceeds_is_said() {
    let level = Level::named("3").unwrap();
    let says = |demand: &Demand| level.allows(demand).unwrap_err().to_string();
    assert_eq!(
        says(&demand(1280, 720, 1, (25, 1))),
        "level 3 allows pictures of 1620 macroblocks (16x16 samples), and these have 3600"
    );
    assert_eq!(
        says(&demand(16 * 114, 16, 1, (25, 1))),
        "level 3 allows pictures 113 macroblocks (16 samples) wide, and these have 114"
    );
    assert_eq!(
        says(&demand(720, 576, 6, (25, 1))),
        "level 3 allows 5 references of this size, not 6"
    );
    assert_eq!(
        says(&demand(720, 576, 5, (51, 2))),
        "level 3 allows 40500 macroblocks (16x16 samples) a second, and these are 41310"
    );
    assert_eq!(
        says(&demand(64, 64, 1, (1721, 10))),
        "level 3 allows 172 pictures a second, and these are 173"
    );
    let enough = |demand: &Demand| match level.allows(demand).unwrap_err() {
        SyntaxError::Level { enough, .. } => enough,
        other => panic!("{other}"),
    };
    assert_eq!(enough(&demand(1280, 720, 1, (25, 1))), Some("3.1"));
    assert_eq!(enough(&demand(16384, 16384, 1, (25, 1))), None);
    let highest = Level::lowest(&demand(16384, 16384, 1, (25, 1)));
    let says = highest.unwrap_err().to_string();
    assert!(
        says.starts_with("level 6.2 allows pictures of 139264 "),
        "{says}"
    );
}

#[test]
fn levels_have_names() {
    for level in &LEVELS {
        assert_eq!(Level::named(level.name), Some(level));
    }
    assert_eq!(Level::named("4.0"), Level::named("4"));
    assert_eq!(Level::named("4.00"), None);
    assert_eq!(Level::named("7"), None);
    assert_eq!(Level::named(""), None);
}

#[test]
fn vectors_have_the_range_of_their_level() {
    let range = |name| Level::named(name).unwrap().vector_range();
    assert_eq!(range("1b"), [(-8192, 8191), (-256, 255)]);
    assert_eq!(range("2"), [(-8192, 8191), (-512, 511)]);
    assert_eq!(range("3"), [(-8192, 8191), (-1024, 1023)]);
    assert_eq!(range("4"), [(-8192, 8191), (-2048, 2047)]);
    assert_eq!(range("6"), [(-8192, 8191), (-32768, 32767)]);
}

#[test]
fn limits_do_not_fall_from_level_to_level() {
    for pair in LEVELS.windows(2) {
        let [low, high] = pair else { unreachable!() };
        assert!(
            low.rate <= high.rate && low.picture <= high.picture,
            "{}",
            high.name
        );
        assert!(low.references <= high.references && low.max_bit_rate <= high.max_bit_rate);
        assert!(low.max_buffer <= high.max_buffer && low.vertical <= high.vertical);
    }
}
