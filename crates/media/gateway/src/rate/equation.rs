//! The throughput of TCP (RFC 5348, section 3.1), with b = 1 and t_RTO = 4 R.

use std::time::Duration;

/// Bytes a second that TCP sends with segments of `segment` bytes, a round-trip time of `rtt` and the loss event rate
/// `loss`. Infinite without loss, or without a round-trip time.
pub fn throughput(segment: f64, rtt: Duration, loss: f64) -> f64 {
    segment / (rtt.as_secs_f64() * round_trips(loss))
}

/// The loss event rate at which TCP sends `rate` bytes a second; between 1e-8 and 1.
pub fn loss_rate(segment: f64, rtt: Duration, rate: f64) -> f64 {
    let wanted = segment / (rtt.as_secs_f64() * rate);
    // The equation grows with the loss, so halving finds it; its logarithm, as it has eight decades.
    let (mut low, mut high) = (1e-8f64.ln(), 0.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        match round_trips(middle.exp()) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    f64::midpoint(low, high).exp()
}

/// Round-trip times a segment.
fn round_trips(loss: f64) -> f64 {
    let timeouts = 12.0 * (3.0 * loss / 8.0).sqrt() * loss * (1.0 + 32.0 * loss * loss);
    (2.0 * loss / 3.0).sqrt() + timeouts
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTTS: [f64; 6] = [0.0001, 0.001, 0.02, 0.1, 0.3, 2.0];
    /// By loss event rate, bytes a second of segments of 1460 bytes at each of `RTTS`: the equation of the RFC in decimal
    /// numbers of 50 digits.
    const CLOSED_FORM: [(f64, [f64; 6]); 10] = [
        (
            0.00000001,
            [
                1.788127e+11,
                1.788127e+10,
                8.940637e+08,
                1.788127e+08,
                5.960425e+07,
                8.940637e+06,
            ],
        ),
        (
            0.000001,
            [
                1.788111e+10,
                1.788111e+09,
                8.940557e+07,
                1.788111e+07,
                5.960371e+06,
                8.940557e+05,
            ],
        ),
        (
            0.0001,
            [
                1.786520e+09,
                1.786520e+08,
                8.932598e+06,
                1.786520e+06,
                5.955065e+05,
                8.932598e+04,
            ],
        ),
        (
            0.001,
            [
                5.604117e+08,
                5.604117e+07,
                2.802059e+06,
                5.604117e+05,
                1.868039e+05,
                2.802059e+04,
            ],
        ),
        (
            0.003,
            [
                3.178807e+08,
                3.178807e+07,
                1.589403e+06,
                3.178807e+05,
                1.059602e+05,
                1.589403e+04,
            ],
        ),
        (
            0.01,
            [
                1.640051e+08,
                1.640051e+07,
                8.200253e+05,
                1.640051e+05,
                5.466835e+04,
                8.200253e+03,
            ],
        ),
        (
            0.03,
            [
                8.079475e+07,
                8.079475e+06,
                4.039737e+05,
                8.079475e+04,
                2.693158e+04,
                4.039737e+03,
            ],
        ),
        (
            0.1,
            [
                2.584349e+07,
                2.584349e+06,
                1.292175e+05,
                2.584349e+04,
                8.614497e+03,
                1.292175e+03,
            ],
        ),
        (
            0.3,
            [
                2.844771e+06,
                2.844771e+05,
                1.422386e+04,
                2.844771e+03,
                9.482570e+02,
                1.422386e+02,
            ],
        ),
        (
            1.0,
            [
                6.000428e+04,
                6.000428e+03,
                3.000214e+02,
                6.000428e+01,
                2.000143e+01,
                3.000214e+00,
            ],
        ),
    ];

    #[test]
    fn throughput_is_the_closed_form() {
        for (loss, rates) in CLOSED_FORM {
            for (rtt, expected) in RTTS.into_iter().zip(rates) {
                let rate = throughput(1460.0, Duration::from_secs_f64(rtt), loss);
                assert!(
                    (rate / expected - 1.0).abs() < 1e-6,
                    "p {loss}, R {rtt}: {rate}"
                );
            }
        }
        assert_eq!(
            throughput(1460.0, Duration::from_millis(100), 0.0),
            f64::INFINITY
        );
    }

    #[test]
    fn the_loss_of_a_rate_gives_that_rate() {
        for (loss, rates) in CLOSED_FORM {
            for (rtt, rate) in RTTS.into_iter().zip(rates) {
                let found = loss_rate(1460.0, Duration::from_secs_f64(rtt), rate);
                assert!(
                    (found / loss - 1.0).abs() < 1e-5,
                    "p {loss}, R {rtt}: {found}"
                );
            }
        }
        assert!(loss_rate(1460.0, Duration::from_millis(100), f64::INFINITY) < 1.1e-8);
        assert!(loss_rate(1460.0, Duration::from_millis(100), 1e-3) > 0.99);
    }
}
