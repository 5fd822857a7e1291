use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// Checks the start that triggers `(time, delay, reason)` of one key, in ms, lead to.
fn check(debounce: u64, triggers: &[(u64, u64, &'static str)], expect: (u64, &'static str)) {
    let ms = Duration::from_millis;
    let zero = Instant::now();
    let mut scheduler = Scheduler::new(ms(debounce));
    for &(time, delay, reason) in triggers {
        scheduler.trigger('a', reason, zero + ms(time), ms(delay));
    }
    let at = scheduler.next_at().unwrap();
    assert_eq!(
        scheduler.start(at - ms(1)),
        None,
        "nothing starts before its time"
    );
    let due = scheduler.start(at).unwrap();
    assert_eq!(
        ((at - zero).as_millis(), due.reason),
        (u128::from(expect.0), expect.1)
    );
    assert_eq!(scheduler.start(at + SECOND), None, "scheduled once");
    scheduler.finish(&'a');
    assert!(scheduler.is_empty());
}

#[test]
fn a_trigger_runs_at_its_time() {
    check(0, &[(0, 0, "now")], (0, "now"));
    check(0, &[(0, 500, "later")], (500, "later"));
}

#[test]
fn a_later_trigger_never_postpones() {
    check(
        0,
        &[(0, 500, "first"), (100, 900, "second")],
        (500, "first"),
    );
    check(
        1000,
        &[(0, 0, "first"), (300, 0, "second"), (999, 0, "third")],
        (1000, "first"),
    );
}

#[test]
fn an_earlier_trigger_advances_and_gives_its_reason() {
    check(
        0,
        &[(0, 5000, "requeue"), (100, 0, "update")],
        (100, "update"),
    );
    check(
        1000,
        &[(0, 5000, "requeue"), (100, 0, "update")],
        (1100, "update"),
    );
}

#[test]
fn of_equal_times_the_first_arrival_counts() {
    check(
        0,
        &[(0, 500, "first"), (100, 400, "second")],
        (500, "first"),
    );
}

#[test]
fn a_delay_beyond_the_window_is_not_lengthened_by_it() {
    check(1000, &[(0, 5000, "requeue")], (5000, "requeue"));
    check(1000, &[(0, 200, "requeue")], (1000, "requeue"));
}

#[test]
fn an_endless_delay_is_cut() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.trigger('a', (), now, Duration::MAX);
    assert_eq!(scheduler.next_at(), Some(now + MAX_DELAY));
}

#[test]
fn the_window_of_the_specification() {
    let zero = Instant::now();
    let at = |tenths: u32| zero + SECOND * tenths / 10;
    let mut scheduler = Scheduler::new(SECOND);
    assert_eq!(
        scheduler.trigger('a', (), at(0), Duration::ZERO),
        Triggered::Added
    );
    assert_eq!(
        scheduler.trigger('a', (), at(3), Duration::ZERO),
        Triggered::Merged
    );
    assert_eq!(scheduler.start(at(9)), None);
    assert_eq!(scheduler.start(at(10)).unwrap().at, at(10));
    scheduler.finish(&'a');
    assert_eq!(
        scheduler.trigger('a', (), at(12), Duration::ZERO),
        Triggered::Added
    );
    assert_eq!(scheduler.next_at(), Some(at(22)));
}

#[test]
fn keys_start_by_time_and_then_by_arrival() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    for (key, delay) in [('c', 2), ('b', 1), ('a', 1), ('d', 0)] {
        scheduler.trigger(key, (), now, SECOND * delay);
    }
    let later = now + SECOND * 3;
    let order: Vec<char> = std::iter::from_fn(|| scheduler.start(later))
        .map(|due| due.key)
        .collect();
    assert_eq!(order, ['d', 'b', 'a', 'c']);
}

#[test]
fn a_running_key_is_held_and_runs_once_more() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.trigger('a', 1, now, Duration::ZERO);
    scheduler.start(now).unwrap();
    assert_eq!(
        scheduler.trigger('a', 2, now, Duration::ZERO),
        Triggered::Added
    );
    assert_eq!(
        scheduler.trigger('a', 3, now, Duration::ZERO),
        Triggered::Merged
    );
    assert_eq!(
        (scheduler.running(), scheduler.held(), scheduler.waiting()),
        (1, 1, 0)
    );
    assert_eq!((scheduler.start(now), scheduler.next_at()), (None, None));
    scheduler.finish(&'a');
    assert_eq!(
        (scheduler.running(), scheduler.held(), scheduler.due(now)),
        (0, 0, 1)
    );
    assert_eq!(scheduler.start(now).unwrap().reason, 2);
    scheduler.finish(&'a');
    assert!(scheduler.is_empty());
}

#[test]
fn a_held_trigger_can_be_advanced() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.trigger('a', 1, now, Duration::ZERO);
    scheduler.start(now).unwrap();
    scheduler.trigger('a', 2, now, SECOND * 5);
    assert_eq!(scheduler.trigger('a', 3, now, SECOND), Triggered::Advanced);
    scheduler.finish(&'a');
    assert_eq!(scheduler.next_at(), Some(now + SECOND));
}

#[test]
fn finish_of_a_key_that_does_not_run_changes_nothing() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.finish(&'a');
    scheduler.trigger('a', (), now, Duration::ZERO);
    scheduler.finish(&'a');
    assert_eq!(scheduler.start(now).unwrap().key, 'a');
}

/// Keys that begin with the same letter share a pool.
fn pool_of(key: &&str) -> usize {
    usize::from(key.starts_with('b'))
}

fn start(scheduler: &mut Scheduler<&'static str, ()>, now: Instant) -> Vec<&'static str> {
    let starts = std::iter::from_fn(|| scheduler.start_in(now, pool_of));
    starts.map(|due| due.key).collect()
}

#[test]
fn a_full_pool_does_not_delay_others() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.set_pools([1, 2]);
    for key in ["a1", "a2", "a3", "b1", "b2", "b3"] {
        scheduler.trigger(key, (), now, Duration::ZERO);
    }
    assert_eq!(start(&mut scheduler, now), ["a1", "b1", "b2"]);
    assert_eq!((scheduler.waiting(), scheduler.due(now)), (3, 3));
    assert_eq!(scheduler.next_at(), None, "all that waits is due");
    scheduler.finish(&"a1");
    assert_eq!(start(&mut scheduler, now), ["a2"]);
    scheduler.finish(&"b2");
    scheduler.finish(&"a2");
    assert_eq!(start(&mut scheduler, now), ["a3", "b3"]);
    for key in ["a3", "b1", "b3"] {
        scheduler.finish(&key);
    }
    assert!(scheduler.is_empty());
}

#[test]
fn a_parked_key_is_scheduled_once_and_keeps_its_time() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.set_pools([1]);
    for key in ["a1", "a2"] {
        scheduler.trigger(key, (), now, Duration::ZERO);
    }
    assert_eq!(start(&mut scheduler, now), ["a1"]);
    let later = now + SECOND;
    let again = scheduler.trigger("a2", (), later, Duration::ZERO);
    assert_eq!(again, Triggered::Merged);
    scheduler.finish(&"a1");
    let due = scheduler.start_in(later, pool_of).unwrap();
    assert_eq!((due.key, due.at), ("a2", now));
    scheduler.finish(&"a2");
    assert!(scheduler.is_empty());
}

#[test]
fn a_parked_key_may_change_its_pool() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.set_pools([1, 1]);
    for key in ["a1", "a2", "b1"] {
        scheduler.trigger(key, (), now, Duration::ZERO);
    }
    assert_eq!(start(&mut scheduler, now), ["a1", "b1"]);
    scheduler.finish(&"a1");
    // `a2` is now in the pool of `b1`, which is full.
    assert_eq!(scheduler.start_in(now, |_| 1), None);
    scheduler.finish(&"b1");
    assert_eq!(scheduler.start_in(now, |_| 9).unwrap().key, "a2");
    assert_eq!(scheduler.waiting(), 0);
}

#[test]
fn clear_drops_parked_keys() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.set_pools([1]);
    for key in ["a1", "a2"] {
        scheduler.trigger(key, (), now, Duration::ZERO);
    }
    assert_eq!(start(&mut scheduler, now), ["a1"]);
    scheduler.clear();
    scheduler.finish(&"a1");
    assert_eq!(scheduler.start_in(now, pool_of), None);
    assert!(scheduler.is_empty());
}

#[test]
fn clear_keeps_only_running_keys() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    for key in ['a', 'b'] {
        scheduler.trigger(key, (), now, Duration::ZERO);
    }
    scheduler.start(now).unwrap();
    scheduler.trigger('a', (), now, Duration::ZERO);
    scheduler.clear();
    assert_eq!(
        (scheduler.running(), scheduler.held(), scheduler.waiting()),
        (1, 0, 0)
    );
    scheduler.finish(&'a');
    assert!(scheduler.is_empty());
}

#[test]
fn the_memory_of_a_burst_is_freed_while_a_key_waits() {
    let now = Instant::now();
    let mut scheduler = Scheduler::new(Duration::ZERO);
    scheduler.trigger(0, "much later", now, 3600 * SECOND);
    for key in 1..=50_000 {
        scheduler.trigger(key, "burst", now, Duration::ZERO);
    }
    assert!(scheduler.entries.capacity() >= 50_000);
    while let Some(due) = scheduler.start(now) {
        scheduler.finish(&due.key);
    }
    assert_eq!(scheduler.entries.len(), 1);
    assert!(scheduler.entries.capacity() <= 4 * MAX_IDLE);
}
