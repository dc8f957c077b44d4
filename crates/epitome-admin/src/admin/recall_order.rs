//! The order of what a search found, as a policy answers it.
//!
//! Invariant: whatever is answered, no passage comes twice, and none is lost but those left out.

use epitome_types::hook::RecallOrder;

/// Why an order of passages is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RecallOrderError {
    /// There is no passage at a place.
    #[error("`{list}` names the passage {place}; there are {count}, counted from 1")]
    NoPassage {
        /// The field of the answer.
        list: &'static str,
        /// The place.
        place: u32,
        /// How many passages there are.
        count: usize,
    },
    /// A passage is named twice.
    #[error("`{list}` names the passage {place} a second time; each is named once")]
    NamedTwice {
        /// The field of the answer.
        list: &'static str,
        /// Its place.
        place: u32,
    },
    /// No passage is left.
    #[error("`leave_out` leaves none of {count} passages; one must be left")]
    NoneLeft {
        /// How many passages there were.
        count: usize,
    },
}

/// The places, counted from 0, of so many passages in the order that a policy answers; `None` where
/// all stay as they are.
///
/// # Errors
///
/// When a place is none or is named twice, or no passage is left.
pub(super) fn recall_order(
    answer: &RecallOrder,
    count: usize,
) -> Result<Option<Vec<usize>>, RecallOrderError> {
    let mut is_named = vec![false; count];
    let mut read = |list, places: &Option<Vec<u32>>| {
        let mut read = Vec::new();
        for &place in places.iter().flatten() {
            let at = (place as usize).checked_sub(1).filter(|at| *at < count);
            let at = at.ok_or(RecallOrderError::NoPassage { list, place, count })?;
            if std::mem::replace(&mut is_named[at], true) {
                return Err(RecallOrderError::NamedTwice { list, place });
            }
            read.push(at);
        }
        Ok(read)
    };
    let left_out = read("leave_out", &answer.leave_out)?;
    let mut order = read("order", &answer.order)?;
    if count > 0 && left_out.len() == count {
        return Err(RecallOrderError::NoneLeft { count });
    }
    order.extend((0..count).filter(|at| !is_named[*at]));
    Ok((!order.iter().copied().eq(0..count)).then_some(order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(order: &[u32], leave_out: &[u32], expected: Result<Option<&[usize]>, &str>) {
        let answer =
            RecallOrder { order: Some(order.to_vec()), leave_out: Some(leave_out.to_vec()) };
        let found = recall_order(&answer, 3).map_err(|error| error.to_string());
        assert_eq!(found, expected.map(|it| it.map(<[_]>::to_vec)).map_err(str::to_owned));
    }

    #[test]
    fn passages_that_are_not_named_come_behind() {
        check(&[], &[], Ok(None));
        check(&[1, 2, 3], &[], Ok(None));
        check(&[1], &[], Ok(None));
        check(&[3], &[], Ok(Some(&[2, 0, 1])));
        check(&[3], &[1], Ok(Some(&[2, 1])));
        check(&[], &[3], Ok(Some(&[0, 1])));
    }

    #[test]
    fn an_order_of_what_is_not_there_is_none() {
        let none = "`order` names the passage 4; there are 3, counted from 1";
        check(&[4], &[], Err(none));
        check(&[], &[0], Err("`leave_out` names the passage 0; there are 3, counted from 1"));
        check(&[2, 2], &[], Err("`order` names the passage 2 a second time; each is named once"));
        check(&[2], &[2], Err("`order` names the passage 2 a second time; each is named once"));
        check(&[], &[1, 2, 3], Err("`leave_out` leaves none of 3 passages; one must be left"));
    }

    /// Whatever is answered, no passage comes twice, and none but those left out is lost.
    #[test]
    fn an_order_loses_nothing() {
        const COUNT: usize = 3;
        let places = [None, Some(0u32), Some(1), Some(2), Some(3), Some(4)];
        for case in 0..places.len().pow(4) {
            let place = |at: u32| places[case / places.len().pow(at) % places.len()];
            let order = Some([place(0), place(1)].into_iter().flatten().collect());
            let leave_out = Some([place(2), place(3)].into_iter().flatten().collect());
            let answer = RecallOrder { order, leave_out };
            let Ok(found) = recall_order(&answer, COUNT) else { continue };
            let mut found = found.unwrap_or_else(|| (0..COUNT).collect());
            found.extend(answer.leave_out.iter().flatten().map(|place| *place as usize - 1));
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2], "{answer:?}");
        }
    }
}
