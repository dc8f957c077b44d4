//! AES in the mode XTS, as IEEE 1619 has it, with ciphertext stealing for what ends within a block.
//!
//! Invariant: a unit stays as long as it is, and each of its blocks depends on its own place alone, but
//! for the last two where the unit ends within a block. Called by [`super::sealer`].

use aes::cipher::array::Array;
use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser};

/// Bytes of a block.
pub(crate) const BLOCK: usize = 16;

/// So many blocks are handed to the cipher at once, which works on several beside each other.
const BATCH: usize = 32;

type Block = Array<u8, U16>;

/// A cipher with the two keys of the mode.
pub(crate) struct Xts<C> {
    data: C,
    place: C,
}

impl<C> Xts<C>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    pub(crate) fn new(data: C, place: C) -> Self {
        Self { data, place }
    }

    /// Encrypts the unit with a number, of one block at least.
    pub(crate) fn encrypt(&self, number: u128, unit: &mut [u8]) {
        let mut mask = self.mask(number);
        let (whole, rest) = split(unit);
        self.pass(&mut mask, whole, C::encrypt_blocks);
        if rest.is_empty() {
            return;
        }
        let (last, tail) = rest.split_at_mut(BLOCK);
        self.single(mask, last, C::encrypt_blocks);
        last[..tail.len()].swap_with_slice(tail);
        self.single(doubled(mask), last, C::encrypt_blocks);
    }

    /// Decrypts the unit with a number, of one block at least.
    pub(crate) fn decrypt(&self, number: u128, unit: &mut [u8]) {
        let mut mask = self.mask(number);
        let (whole, rest) = split(unit);
        self.pass(&mut mask, whole, C::decrypt_blocks);
        if rest.is_empty() {
            return;
        }
        let (last, tail) = rest.split_at_mut(BLOCK);
        self.single(doubled(mask), last, C::decrypt_blocks);
        last[..tail.len()].swap_with_slice(tail);
        self.single(mask, last, C::decrypt_blocks);
    }

    /// What the first block of a unit is masked with.
    fn mask(&self, number: u128) -> u128 {
        let mut mask: Block = number.to_le_bytes().into();
        self.place.encrypt_block(&mut mask);
        u128::from_le_bytes(mask.into())
    }

    fn pass(&self, mask: &mut u128, blocks: &mut [[u8; BLOCK]], run: fn(&C, &mut [Block])) {
        for batch in blocks.chunks_mut(BATCH) {
            let mut masks = [0; BATCH];
            for (own, block) in masks.iter_mut().zip(&mut *batch) {
                *own = *mask;
                *mask = doubled(*mask);
                masked(*own, block);
            }
            run(&self.data, Array::cast_slice_from_core_mut(batch));
            masks.iter().zip(batch).for_each(|(own, block)| masked(*own, block));
        }
    }

    fn single(&self, mut mask: u128, block: &mut [u8], run: fn(&C, &mut [Block])) {
        self.pass(&mut mask, block.as_chunks_mut().0, run);
    }
}

/// The blocks that are passed one by one, and what is left where a unit ends within a block: its last
/// whole block and the part behind it.
fn split(unit: &mut [u8]) -> (&mut [[u8; BLOCK]], &mut [u8]) {
    let count = unit.len() / BLOCK;
    let alone = if unit.len().is_multiple_of(BLOCK) { count } else { count.saturating_sub(1) };
    let (whole, rest) = unit.split_at_mut(alone * BLOCK);
    (whole.as_chunks_mut().0, rest)
}

fn masked(mask: u128, block: &mut [u8; BLOCK]) {
    *block = (u128::from_le_bytes(*block) ^ mask).to_le_bytes();
}

/// The next mask: the product with x in the field of the mode.
fn doubled(mask: u128) -> u128 {
    let carry = if mask >> 127 == 1 { 0x87 } else { 0 };
    mask << 1 ^ carry
}

#[cfg(test)]
mod tests {
    use aes::cipher::KeyInit;
    use aes::{Aes128, Aes256};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    }

    #[track_caller]
    fn check<C>(keys: [&str; 2], number: u128, plain: &[u8], sealed: &str)
    where
        C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
    {
        let [data, place] = keys.map(|key| C::new_from_slice(&bytes(key)).unwrap());
        let xts = Xts::new(data, place);
        let mut unit = plain.to_vec();
        xts.encrypt(number, &mut unit);
        assert_eq!(unit[..sealed.len() / 2], bytes(sealed));
        xts.decrypt(number, &mut unit);
        assert_eq!(unit, plain);
    }

    /// The vectors of the standard.
    #[test]
    fn units_are_encrypted_as_the_standard_says() {
        let zero = "00000000000000000000000000000000";
        let first = "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e";
        check::<Aes128>([zero, zero], 0, &[0; 32], first);
        let keys = ["fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "22222222222222222222222222222222"];
        let third = "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89";
        check::<Aes128>(keys, 0x33_3333_3333, &[0x44; 32], third);
        let keys = [
            "2718281828459045235360287471352662497757247093699959574966967627",
            "3141592653589793238462643383279502884197169399375105820974944592",
        ];
        let plain: Vec<u8> = (0..512).map(|at| u8::try_from(at % 256).unwrap()).collect();
        let tenth = "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b\
                     5d31e276f8fe4a8d66b317f9ac683f44680a86ac35adfc3345befecb4bb188fd\
                     5776926c49a3095eb108fd1098baec70aaa66999a72a82f27d848b21d4a741b0";
        check::<Aes256>(keys, 0xff, &plain, tenth);
    }

    #[test]
    fn what_ends_within_a_block_is_encrypted_as_the_standard_says() {
        let keys = ["fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0"];
        let plain: Vec<u8> = (0..20).collect();
        let check =
            |length, sealed| check::<Aes128>(keys, 0x12_3456_789a, &plain[..length], sealed);
        check(17, "6c1625db4671522d3d7599601de7ca09ed");
        check(18, "d069444b7a7e0cab09e24447d24deb1fedbf");
        check(19, "e5df1351c0544ba1350b3363cd8ef4beedbf9d");
        check(20, "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac");
    }

    proptest! {
        #[test]
        fn what_was_encrypted_is_decrypted(
            number in any::<u128>(),
            unit in vec(any::<u8>(), BLOCK..900),
        ) {
            let xts = Xts::new(Aes256::new(&[1; 32].into()), Aes256::new(&[2; 32].into()));
            let mut passed = unit.clone();
            xts.encrypt(number, &mut passed);
            prop_assert_ne!(&passed, &unit);
            xts.decrypt(number, &mut passed);
            prop_assert_eq!(passed, unit);
        }
    }
}
