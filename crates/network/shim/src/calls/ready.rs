//! Calls that wait for readiness.

use std::ffi::{c_int, c_short};
use std::ptr;
use std::time::{Duration, Instant};

use crate::memory::{millis, room, run, time};
use crate::sys::{self, Outcome};
use crate::{epoll, poll as stack, table, take};

type Mask = *const libc::sigset_t;

/// # Safety
/// There are `count` of `fds`.
unsafe fn poll_for(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: Option<Duration>,
    mask: Mask,
) -> Outcome {
    // SAFETY: the caller says so.
    let fds = unsafe { room(fds, count as usize) };
    match stack::poll(fds, timeout, mask) {
        Some(result) => result,
        None => sys::poll(fds, timeout, mask),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
    // SAFETY: the program gives as many.
    run(|| unsafe { poll_for(fds, count, millis(timeout), ptr::null()) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: c_int,
    _room: usize,
) -> c_int {
    // SAFETY: it is the same call.
    unsafe { poll(fds, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: Mask,
) -> c_int {
    // SAFETY: the program gives as many, and a time.
    run(|| unsafe { poll_for(fds, count, time(timeout)?, mask) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout: *const libc::timespec,
    mask: Mask,
    _room: usize,
) -> c_int {
    // SAFETY: it is the same call.
    unsafe { ppoll(fds, count, timeout, mask) }
}

/// # Safety
/// The sets have bits for `end` file descriptors, unless they are null.
unsafe fn select_for(
    end: c_int,
    sets: [*mut libc::fd_set; 3],
    timeout: Option<Duration>,
    mask: Mask,
) -> Outcome {
    let words = usize::try_from(end).map_err(|_| libc::EINVAL)?.div_ceil(64);
    let bits = sets.map(|set| {
        // SAFETY: the caller says so; a set is of words.
        (!set.is_null()).then(|| unsafe { room(set.cast::<u64>(), words) })
    });
    if let Some(result) = stack::select(end, bits, timeout, mask) {
        return result;
    }
    let time = sys::time(timeout);
    let time = time.as_ref().map_or(0, |time| &raw const *time as usize);
    // The kernel takes the mask with the size of its sets of signals.
    let masked = [mask as usize, 8];
    let [read, write, except] = sets.map(|set| set as usize);
    let arguments = [
        sys::word(end),
        read,
        write,
        except,
        time,
        masked.as_ptr() as usize,
    ];
    sys::call(libc::SYS_pselect6, arguments)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    end: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    run(|| {
        // SAFETY: the program gives a time, or none.
        let given = unsafe { timeout.as_mut() };
        let timeout = match &given {
            Some(time) => {
                let seconds = u64::try_from(time.tv_sec).map_err(|_| libc::EINVAL)?;
                let micros = u64::try_from(time.tv_usec).map_err(|_| libc::EINVAL)?;
                Some(Duration::from_secs(seconds) + Duration::from_micros(micros))
            }
            None => None,
        };
        let began = Instant::now();
        // SAFETY: the program gives sets.
        let outcome = unsafe { select_for(end, [read, write, except], timeout, ptr::null()) };
        if let (Some(given), Some(timeout)) = (given, timeout) {
            let left = timeout.saturating_sub(began.elapsed());
            given.tv_sec = left.as_secs().try_into().unwrap_or(libc::time_t::MAX);
            given.tv_usec = left.subsec_micros().into();
        }
        outcome
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    end: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *const libc::timespec,
    mask: Mask,
) -> c_int {
    // SAFETY: the program gives sets and a time.
    run(|| unsafe { select_for(end, [read, write, except], time(timeout)?, mask) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    run(|| match table::socket(fd) {
        Some(socket) => {
            // SAFETY: the program gives an event, or none.
            let event = unsafe { event.as_ref() }.copied();
            epoll::control(epoll, operation, fd, &socket, event)
        }
        None => {
            let arguments = [epoll, operation, fd].map(sys::word);
            let [one, two, three] = arguments;
            let done = sys::call(libc::SYS_epoll_ctl, [one, two, three, event as usize])?;
            // SAFETY: as above.
            take::watch(epoll, operation, fd, unsafe { event.as_ref() }.copied());
            Ok(done)
        }
    }) as c_int
}

/// # Safety
/// There is room for `most` events.
unsafe fn epoll_wait_for(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: Option<Duration>,
    mask: Mask,
) -> Outcome {
    let kernel = |events: *mut libc::epoll_event, most: usize, timeout, mask: Mask| {
        let time = sys::time(timeout);
        let time = time.as_ref().map_or(0, |time| &raw const *time as usize);
        let arguments = [
            sys::word(epoll),
            events as usize,
            most,
            time,
            mask as usize,
            8,
        ];
        match sys::call(libc::SYS_epoll_pwait2, arguments) {
            // Kernels before 5.11 know milliseconds alone.
            Err(libc::ENOSYS) => {
                let millis = |time: Duration| time.as_nanos().div_ceil(1_000_000);
                let millis =
                    timeout.map(|time| c_int::try_from(millis(time)).unwrap_or(c_int::MAX));
                let [epoll, events, most, _, mask, size] = arguments;
                let time = sys::word(millis.unwrap_or(-1));
                let arguments = [epoll, events, most, time, mask, size];
                sys::call(libc::SYS_epoll_pwait, arguments)
            }
            outcome => outcome,
        }
    };
    let Some(set) = table::epoll(epoll) else {
        return kernel(events, sys::word(most), timeout, mask);
    };
    let most = usize::try_from(most).ok().filter(|&most| most > 0);
    let most = most.ok_or(libc::EINVAL)?;
    let none = libc::epoll_event { events: 0, u64: 0 };
    let others = |most: usize| {
        let mut others = vec![none; most.min(epoll::TOGETHER)];
        let (at, len) = (others.as_mut_ptr(), others.len());
        let told = kernel(at, len, Some(Duration::ZERO), ptr::null())?;
        others.truncate(told as usize);
        Ok(others)
    };
    let told = epoll::wait(epoll, &set, most, timeout, mask, others)?;
    // SAFETY: the program gives room for as many events.
    let events = unsafe { room(events, most) };
    events[..told.len()].copy_from_slice(&told);
    Ok(told.len() as isize)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    // SAFETY: it is the same call.
    unsafe { epoll_pwait(epoll, events, most, timeout, ptr::null()) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: c_int,
    mask: Mask,
) -> c_int {
    // SAFETY: the program gives room for as many events.
    run(|| unsafe { epoll_wait_for(epoll, events, most, millis(timeout), mask) }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut libc::epoll_event,
    most: c_int,
    timeout: *const libc::timespec,
    mask: Mask,
) -> c_int {
    // SAFETY: the program gives room for as many events, and a time.
    run(|| unsafe { epoll_wait_for(epoll, events, most, time(timeout)?, mask) }) as c_int
}

const _: () = assert!(libc::EPOLLIN == libc::POLLIN as c_int && size_of::<c_short>() == 2);
