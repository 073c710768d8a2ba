//! Times and durations of generated types: carries, negative values, ranges, and `std::time`.

use std::time::{Duration as StdDuration, SystemTime, UNIX_EPOCH};

use situ::time::{TimeError, Timespan, Timestamp};
use situ_generated::sensor::situ_::common::{Duration, Time};

/// Total nanoseconds, and the members that they have.
const PAIRS: [(i64, i32, u32); 9] = [
    (0, 0, 0),
    (1, 0, 1),
    (999_999_999, 0, 999_999_999),
    (1_000_000_000, 1, 0),
    (-1, -1, 999_999_999),
    (-500_000_000, -1, 500_000_000),
    (-1_000_000_000, -1, 0),
    (-2_147_483_648_000_000_000, i32::MIN, 0),
    (2_147_483_647_999_999_999, i32::MAX, 999_999_999),
];

#[test]
fn nanoseconds_count_forward_from_the_seconds() {
    for (nanos, sec, nanosec) in PAIRS {
        let (time, span) = (Time { sec, nanosec }, Duration { sec, nanosec });
        assert_eq!((Time::from_nanos(nanos).unwrap(), time.to_nanos()), (time, nanos));
        assert_eq!((Duration::from_nanos(nanos).unwrap(), span.to_nanos()), (span, nanos));
    }
    for nanos in [2_147_483_648_000_000_000, -2_147_483_648_000_000_001, i64::MIN, i64::MAX] {
        let error = TimeError::OutOfRange { nanos: i128::from(nanos) };
        assert_eq!((Time::from_nanos(nanos), Duration::from_nanos(nanos)), (Err(error), Err(error)));
    }
}

#[test]
fn sums_carry_and_end_at_the_range() {
    let time = Time { sec: 10, nanosec: 800_000_000 };
    assert_eq!(time.plus(StdDuration::from_millis(300)).unwrap(), Time { sec: 11, nanosec: 100_000_000 });
    assert_eq!(time.minus(StdDuration::from_millis(900)).unwrap(), Time { sec: 9, nanosec: 900_000_000 });
    assert_eq!(time.minus(StdDuration::from_secs(11)).unwrap(), Time { sec: -1, nanosec: 800_000_000 });
    let half_back = Duration { sec: -1, nanosec: 500_000_000 };
    assert_eq!(time.plus(half_back).unwrap(), Time { sec: 10, nanosec: 300_000_000 });
    assert_eq!(
        time.since::<Duration>(&Time { sec: 11, nanosec: 0 }).unwrap(),
        Duration { sec: -1, nanosec: 800_000_000 }
    );
    assert_eq!(half_back.plus(half_back).unwrap(), Duration { sec: -1, nanosec: 0 });
    assert_eq!(half_back.minus(half_back).unwrap(), Duration { sec: 0, nanosec: 0 });
    let last = Time { sec: i32::MAX, nanosec: 999_999_999 };
    assert_eq!(
        last.plus(StdDuration::from_nanos(1)),
        Err(TimeError::OutOfRange { nanos: 2_147_483_648_000_000_000 })
    );
    assert!(matches!(time.plus(StdDuration::MAX), Err(TimeError::OutOfRange { .. })));
    let first = Time { sec: i32::MIN, nanosec: 0 };
    assert!(matches!(last.since::<Duration>(&first), Err(TimeError::OutOfRange { .. })));
    let most = Time { sec: i32::MAX, nanosec: u32::MAX };
    assert_eq!(most.to_nanos(), 2_147_483_651_294_967_295);
    assert!(matches!(most.convert::<Time>(), Err(TimeError::OutOfRange { .. })));
    assert_eq!(
        Time { sec: 1, nanosec: 2_500_000_000 }.convert::<Time>(),
        Ok(Time { sec: 3, nanosec: 500_000_000 })
    );
}

#[test]
fn standard_times_and_durations_convert() {
    let time = Time { sec: -2, nanosec: 250_000_000 };
    let system = UNIX_EPOCH - StdDuration::from_millis(1750);
    assert_eq!((time.to_system(), Time::from_system(system)), (system, Ok(time)));
    assert_eq!(Time { sec: 3, nanosec: 7 }.to_system(), UNIX_EPOCH + StdDuration::new(3, 7));
    let late = UNIX_EPOCH + StdDuration::from_secs(1 << 31);
    assert!(matches!(Time::from_system(late), Err(TimeError::OutOfRange { .. })));
    assert_eq!(Duration::from_std(StdDuration::new(3, 7)), Ok(Duration { sec: 3, nanosec: 7 }));
    assert_eq!(Duration { sec: 3, nanosec: 7 }.to_std(), Ok(StdDuration::new(3, 7)));
    let back = Duration { sec: -1, nanosec: 999_999_999 };
    assert_eq!(back.to_std(), Err(TimeError::Negative { nanos: -1 }));
    assert!(matches!(Duration::from_std(StdDuration::MAX), Err(TimeError::OutOfRange { .. })));
}

#[test]
fn now_is_the_system_clock_and_steady_now_the_monotonic_one() {
    let before = SystemTime::now();
    let now = Time::now().to_system();
    assert!(before <= now && now <= SystemTime::now());
    let before = situ::bus::now_ns();
    let steady = situ::bus::steady_now::<Time>().to_nanos() as u64;
    assert!(before <= steady && steady <= situ::bus::now_ns());
}

#[cfg(situ_ros)]
#[test]
fn times_of_ros_convert() {
    use situ_generated::ros::builtin_interfaces::msg;
    let time = Time { sec: -5, nanosec: 6 };
    let of_ros: msg::Time = time.convert().unwrap();
    assert_eq!((of_ros.sec, of_ros.nanosec, of_ros.convert()), (-5, 6, Ok(time)));
    let span: msg::Duration = of_ros.since(&Time { sec: -6, nanosec: 5 }).unwrap();
    assert_eq!((span.sec, span.nanosec), (1, 1));
}
