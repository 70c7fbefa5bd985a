//! Values worked out by hand from the definitions.

use evener_image::graph::plane::Port;
use evener_image::graph::{Graph, Planes};
use evener_image::row_view::RowView;
use evener_image::stage::RowContext;
use evener_image::{Chroma, ColourRange, Depth, Format};
use evener_runtime::Simd;

/// What a graph makes of a luma plane given row by row, stage after stage.
fn run<const W: usize>(text: &str, rows: &[[f32; W]]) -> Vec<Vec<f32>> {
    let format = Format {
        width: W as u32,
        height: rows.len() as u32,
        chroma: Chroma::Mono,
        depth: Depth::F32,
        range: ColourRange::Full,
    };
    let bound = Graph::parse(text)
        .unwrap()
        .bind(&format, Planes::Auto)
        .unwrap();
    let graph = &bound.planes[0];
    let source = rows.concat();
    let mut planes: Vec<Vec<f32>> = Vec::new();
    let mut temp = Vec::new();
    for node in &graph.nodes {
        let rect = evener_image::geometry::Rect::of(node.input_size);
        let lines: Vec<RowView<'_>> = node
            .inputs
            .iter()
            .map(|port| match port {
                Port::Source => RowView::plane(&source, rect.width(), rect),
                Port::Stage(i) => RowView::plane(&planes[*i], rect.width(), rect),
                Port::Other(_) | Port::Constant(_) => panic!("a stage reads its plane"),
            })
            .collect();
        let width = node.size.w as usize;
        let mut out = vec![f32::NAN; node.size.area()];
        for (y, row) in out.chunks_mut(width).enumerate() {
            let mut context = RowContext {
                simd: Simd::detect(),
                temp: &mut temp,
            };
            node.stage.row(&mut context, &lines, y as i32, 0, row);
        }
        planes.push(out);
    }
    let width = bound.output.width as usize;
    planes
        .last()
        .unwrap_or(&source)
        .chunks(width)
        .map(<[f32]>::to_vec)
        .collect()
}

#[track_caller]
fn near<const W: usize>(got: &[Vec<f32>], expected: &[[f32; W]]) {
    let same = got.len() == expected.len()
        && got.iter().zip(expected).all(|(g, e)| {
            g.len() == W
                && g.iter()
                    .zip(e)
                    .all(|(g, e)| (g - e).abs() <= 1e-5 * e.abs().max(1.0))
        });
    assert!(same, "\n     got {got:?}\nexpected {expected:?}");
}

#[test]
fn blur() {
    let point = [
        [0.0; 5],
        [0.0; 5],
        [0.0, 0.0, 16.0, 0.0, 0.0],
        [0.0; 5],
        [0.0; 5],
    ];
    let spread = [
        [0.0; 5],
        [0.0, 1.0, 2.0, 1.0, 0.0],
        [0.0, 2.0, 4.0, 2.0, 0.0],
        [0.0, 1.0, 2.0, 1.0, 0.0],
        [0.0; 5],
    ];
    assert_eq!(run("blur", &point), spread);
    // One row is its own neighbour above and below: only [1 2 1]/4 along it is left, ends repeated.
    assert_eq!(run("blur", &[[0.0, 16.0]]), [[4.0, 12.0]]);
    assert_eq!(run("blur", &[[0.0], [16.0]]), [[4.0], [12.0]]);
    assert_eq!(run("blur", &[[3.0]]), [[3.0]]);
}

#[test]
fn gaussian() {
    // sigma 0.3: radius 1, weights exp(-0.5/0.09) = 0.003866 beside 1, divided by their sum 1.007732.
    let point = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let (side, centre) = (0.003_836_26_f32, 0.992_327_5_f32);
    let (corner, edge) = (side * side, side * centre);
    let spread = [
        [corner, edge, corner],
        [edge, centre * centre, edge],
        [corner, edge, corner],
    ];
    near(&run("gaussian=0.3", &point), &spread);
    // Sigma 1 reaches 3 samples and no further, sigma 1.01 reaches 4.
    let row = [[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]];
    let one = run("gaussian=sigma=1", &row);
    assert!(one[0][0] == 0.0 && one[0][8] == 0.0 && one[0][1] > 0.004 && one[0][7] > 0.004);
    assert!((one[0][4] / one[0][5] - 0.5f32.exp()).abs() < 1e-4);
    assert!(run("gaussian=1.01", &row)[0][0] > 0.0);
    near(&run("gaussian=2", &[[0.75; 4]; 3]), &[[0.75; 4]; 3]);
}

#[test]
fn sobel_x() {
    // v = x: the weights right minus left are 4, the distance is 2 inside and 1 at the edges.
    assert_eq!(run("sobel_x", &[[0.0, 1.0, 2.0]; 3]), [[4.0, 8.0, 4.0]; 3]);
    assert_eq!(run("sobel_x", &[[0.0; 2], [5.0; 2]]), [[0.0; 2]; 2]);
    // Row weights 1 2 1: a single sample shows them, with the sign of cross-correlation.
    let point = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let expected = [[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]];
    assert_eq!(run("sobel_x", &point), expected);
}

#[test]
fn sobel_y() {
    // v = y²: 4·(1 - 0), 4·(4 - 0), 4·(4 - 1); positive where it grows downwards.
    let squares = [[0.0; 3], [1.0; 3], [4.0; 3]];
    assert_eq!(run("sobel_y", &squares), [[4.0; 3], [16.0; 3], [12.0; 3]]);
    let point = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]];
    let expected = [[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, -2.0, -1.0]];
    assert_eq!(run("sobel_y", &point), expected);
}

#[test]
fn sobel() {
    // v = 3x + 4y: gradients (24, 32) inside, half of each at the edges across it.
    let plane = [[0.0, 3.0, 6.0], [4.0, 7.0, 10.0], [8.0, 11.0, 14.0]];
    let (side, top) = (1168.0f32.sqrt(), 832.0f32.sqrt());
    near(
        &run("sobel", &plane),
        &[[20.0, top, 20.0], [side, 40.0, side], [20.0, top, 20.0]],
    );
}

#[test]
fn threshold() {
    let row = [[0.0, 0.25, 0.5, 0.75, 1.0]];
    assert_eq!(run("threshold", &row), [[0.0, 0.0, 0.0, 0.75, 1.0]]);
    assert_eq!(run("threshold=0.25", &row), [[0.0, 0.0, 0.5, 0.75, 1.0]]);
    assert_eq!(
        run("threshold=0.5:below", &row),
        [[0.0, 0.25, 0.0, 0.0, 0.0]]
    );
}

#[test]
fn posterize_and_binary() {
    // Four levels are 0, 1/3, 2/3 and 1, of a quarter of the scale each.
    let row = [[-0.5, 0.0, 0.24, 0.25, 0.5, 0.75, 0.99, 1.0, 1.5]];
    let (third, two) = (1.0 / 3.0, 2.0 / 3.0);
    assert_eq!(
        run("posterize=4", &row),
        [[0.0, 0.0, 0.0, third, two, 1.0, 1.0, 1.0, 1.0]]
    );
    assert_eq!(
        run("discrete=2", &row),
        [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]]
    );
    assert_eq!(run("posterize", &[[0.124, 0.126]]), [[0.0, 1.0 / 7.0]]);
    assert_eq!(
        run("binary", &[[-1.0, 0.0, 1e-9, 1.0]]),
        [[0.0, 0.0, 1.0, 1.0]]
    );
}

#[test]
fn undistort() {
    // Half the diagonal is 2, so r² is 1 at the ends and 1/4 beside the centre.
    let row = [[0.0, 10.0, 20.0, 30.0, 40.0]];
    // k1 = -1/2: factors 1/2 and 7/8, positions 1 and 1.125.
    near(
        &run("undistort=k1=-0.5", &row),
        &[[10.0, 11.25, 20.0, 28.75, 30.0]],
    );
    // k1 = 1/2: the ends read 1 sample outside, which is fill.
    near(
        &run("undistort=k1=0.5", &row),
        &[[0.0, 8.75, 20.0, 31.25, 0.0]],
    );
    // k2 = -0.8: factors 1 - 0.8 = 0.2 and 1 - 0.8/16 = 0.95.
    near(
        &run("undistort=0:-0.8", &row),
        &[[16.0, 10.5, 20.0, 29.5, 24.0]],
    );
    // 3 x 4 / 2 = diagonal: half of it is 2.5 for 4 x 5 samples; the corners have r = 1, and
    // k1 = -1 takes them to the centre, between the four samples there.
    let corners = [
        [1.0, 0.0, 0.0, 1.0],
        [0.0; 4],
        [0.0, 7.0, 5.0, 0.0],
        [0.0; 4],
        [1.0, 0.0, 0.0, 1.0],
    ];
    let got = run("undistort=-1", &corners);
    let ends = vec![vec![got[0][0], got[0][3]], vec![got[4][0], got[4][3]]];
    near(&ends, &[[6.0, 6.0], [6.0, 6.0]]);
    assert_eq!(run("undistort", &[[0.3]]), [[0.3]]);
}

#[test]
fn crop() {
    let plane: [[f32; 5]; 5] =
        std::array::from_fn(|y| std::array::from_fn(|x| (10 * y + x) as f32));
    let first = [
        [0.0, 1.0, 2.0, 3.0],
        [10.0, 11.0, 12.0, 13.0],
        [20.0, 21.0, 22.0, 23.0],
    ];
    // 0.8 of 5 is 4, and half of what is left rounds down to 0.
    assert_eq!(run("crop", &plane)[..3], first);
    assert_eq!(run("crop=0.6", &plane)[0], [11.0, 12.0, 13.0]);
    assert_eq!(
        run("crop=3:2:1:2", &plane),
        [[21.0, 22.0, 23.0], [31.0, 32.0, 33.0]]
    );
    assert_eq!(run("crop=y=4:x=0:w=2:h=1", &plane), [[40.0, 41.0]]);
    assert_eq!(run("crop=fraction=1", &plane), plane);
}

#[test]
fn rotate() {
    let plane = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let left = [[3.0, 6.0, 9.0], [2.0, 5.0, 8.0], [1.0, 4.0, 7.0]];
    assert_eq!(run("rotate=90", &plane), left);
    assert_eq!(run("rotate=-270", &plane), left);
    assert_eq!(
        run("rotate=180", &[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        [[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]]
    );
    // 45°: the corners read above, beside and below the plane; the middle of the top row reads
    // (1.70711, 0.29289), between 2, 3, 5 and 6.
    let high = std::f32::consts::FRAC_1_SQRT_2;
    let low = 1.0 - high;
    let top = 2.0 + high + 3.0 * low;
    let left = 1.0 + low + 3.0 * low;
    let (right, bottom) = (10.0 - left, 10.0 - top);
    near(
        &run("rotate=45", &plane),
        &[[0.0, top, 0.0], [left, 5.0, right], [0.0, bottom, 0.0]],
    );
}

#[test]
fn resize() {
    // Twice as wide: positions -1/4 (repeated: 0), 1/4, 3/4, 5/4 (repeated: 1).
    assert_eq!(run("resize=4:1", &[[0.0, 10.0]]), [[0.0, 2.5, 7.5, 10.0]]);
    // Half as wide: positions 1/2 and 5/2, weights 1 3 3 1 of 8, ends repeated: (4·0 + 3·10 + 20)/8.
    assert_eq!(
        run("resize=2:1", &[[0.0, 10.0, 20.0, 30.0]]),
        [[6.25, 23.75]]
    );
    // Stripes of one sample are grey, but for the ends.
    assert_eq!(
        run("resize=4:1", &[[0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]]),
        [[0.375, 0.5, 0.5, 0.625]]
    );
    assert_eq!(
        run("resize=w=1:h=4", &[[0.0], [10.0]]),
        [[0.0], [2.5], [7.5], [10.0]]
    );
    // A third: positions 1 and 4, weights 1 2 3 2 1 of 9, ends repeated.
    near(
        &run("resize=2:1", &[[9.0, 0.0, 0.0, 0.0, 0.0, 18.0]]),
        &[[3.0, 6.0]],
    );
    // Both ways, and one way where the other grows.
    let plane = [[0.0, 0.0, 8.0, 8.0], [8.0, 8.0, 16.0, 16.0]];
    near(&run("resize=2:1", &plane), &[[5.0, 11.0]]);
    near(
        &run("resize=2:4", &plane),
        &[[1.0, 7.0], [3.0, 9.0], [7.0, 13.0], [9.0, 15.0]],
    );
    let plane = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(run("resize=3:2", &plane), plane);
}

#[test]
fn flip() {
    let plane = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(run("flip=h", &plane), [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]);
    assert_eq!(run("flip=v", &plane), [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]);
    assert_eq!(run("flip=v,flip=direction=h,rotate=180", &plane), plane);
}

#[test]
fn pad() {
    let part = [[0.1, 0.2], [0.3, 0.4]];
    let (g, z) = (0.5, 0.0);
    let expected = [[g, g, g, g, g], [g, 0.1, 0.2, g, g], [g, 0.3, 0.4, g, g]];
    near(&run("pad=5:3:1:1:0.5", &part), &expected);
    let middle = [[z, 0.1, 0.2, z], [z, 0.3, 0.4, z]];
    near(&run("pad=iw*2:ih:-1", &part), &middle);
}

#[test]
fn overlay() {
    let folder = evener_testing::Folder::new();
    let header = "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n";
    // White, opaque; red, a fifth.
    let samples = [255, 255, 255, 255, 255, 0, 0, 51];
    let file = folder.file("mark.pam", [header.as_bytes(), &samples].concat());
    let frame = [[0.5; 3]; 2];
    let place = |at: &str| run(&format!("overlay={}:{at}", file.display()), &frame);
    let red = 0.5 * 0.8 + 0.299 * 0.2;
    near(&place("1:1"), &[[0.5; 3], [0.5, 1.0, red]]);
    near(&place("W-w+1:H-h-1"), &[[0.5, 0.5, 1.0], [0.5; 3]]);
    near(&place("-1:0"), &[[red, 0.5, 0.5], [0.5; 3]]);
    near(&place("50:0"), &frame);
    let missing = Graph::parse("overlay=nothing.png").unwrap_err().to_string();
    assert!(
        missing.contains("nothing.png: ") && missing.contains("No such file"),
        "{missing}"
    );
}

#[test]
fn eq() {
    near(
        &run("eq=2", &[[0.5, 0.75, 0.25, 0.0]]),
        &[[0.5, 1.0, 0.0, -0.5]],
    );
    near(
        &run("eq=brightness=-0.25", &[[0.5, 0.25, 1.0]]),
        &[[0.25, 0.0, 0.75]],
    );
    near(
        &run("eq=gamma=2", &[[0.25, 0.0, 1.0, -0.1]]),
        &[[0.5, 0.0, 1.0, 0.0]],
    );
}

#[test]
fn median() {
    let specks = [
        [0.5, 0.5, 0.5, 0.5],
        [0.5, 1.0, 0.5, 0.0],
        [0.5, 0.5, 0.5, 0.5],
    ];
    near(&run("median", &specks), &[[0.5; 4]; 3]);
    let edge = [
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.0, 1.0, 1.0],
    ];
    near(&run("median", &edge), &edge);
}

#[test]
fn unsharp() {
    // The kernel [1 2 1]ᵀ[1 2 1] / 16: the point keeps a quarter, and twice the difference is added.
    let point = [[0.0; 3], [0.0, 1.0, 0.0], [0.0; 3]];
    let (c, e) = (-2.0 / 16.0, -2.0 * 2.0 / 16.0);
    let expected = [[c, e, c], [e, 1.0 + 2.0 * 0.75, e], [c, e, c]];
    near(&run("unsharp=3:3:2", &point), &expected);
}

#[test]
fn deinterlace() {
    let fields = [[0.0, 1.0], [9.0, 9.0], [0.5, 0.5], [9.0, 9.0]];
    let expected = [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [0.5, 0.5]];
    near(&run("deinterlace=keep=top", &fields), &expected);
    let fields = [[9.0], [0.5], [9.0], [1.0], [9.0]];
    near(
        &run("deinterlace=keep=bottom", &fields),
        &[[0.5], [0.5], [0.75], [1.0], [1.0]],
    );
}

#[test]
fn denoise() {
    // A step larger than the strength stays; what is smaller comes nearer to the mean of its surroundings.
    let step = [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]; 4];
    near(&run("denoise", &step), &step);
    let noisy = [[0.5, 0.5, 0.52, 0.5, 0.5]; 1];
    let got = run("denoise=0.2", &noisy);
    assert!(got[0][2] > 0.5 && got[0][2] < 0.51, "{got:?}");
}

#[test]
fn rotate_that_grows() {
    let picture = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]];
    near(
        &run("rotate=90:grow=1", &picture),
        &[[0.3, 0.6], [0.2, 0.5], [0.1, 0.4]],
    );
    let turned = run("rotate=45:0.25:1", &[[1.0; 4]; 4]);
    assert_eq!((turned.len(), turned[0].len()), (6, 6));
    assert_eq!((turned[0][0], turned[5][5]), (0.25, 0.25));
    assert_eq!(turned[2][2], 1.0);
}
