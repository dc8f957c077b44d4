//! What an image costs, by its dimensions and the vendor's published rule (RULES 124), never by the
//! length of its data. Called by the counters.

use epitome_kernel::types::ImagePart;

/// A vendor's rule for images, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImagePrice {
    /// Anthropic: one token per 750 pixels, after shrinking to 1568 pixels a side and 1600 tokens.
    Area,
    /// OpenAI at high detail: a base and a price per tile of 512 × 512 pixels, after shrinking to
    /// 2048 pixels a side and 768 on the shorter one.
    Tiles {
        /// Tokens per image.
        base: u64,
        /// Tokens per tile.
        tile: u64,
    },
}

/// The most that [`ImagePrice::Area`] asks, and what it asks for an image of unknown size.
const AREA_MOST: u64 = 1600;
/// What [`ImagePrice::Tiles`] takes an image of unknown size for.
const TILES_UNKNOWN: (u32, u32) = (1024, 1024);

impl ImagePrice {
    /// Tokens of an image.
    pub fn tokens(self, image: &ImagePart) -> u64 {
        match self {
            Self::Area => image
                .pixels
                .map_or(AREA_MOST, |(width, height)| PixelSize::new(width, height).area()),
            Self::Tiles { base, tile } => {
                let (width, height) = image.pixels.unwrap_or(TILES_UNKNOWN);
                base + tile * PixelSize::new(width, height).tiles()
            }
        }
    }
}

/// How large an image is, in pixels.
#[derive(Clone, Copy)]
struct PixelSize {
    width: u64,
    height: u64,
}

impl PixelSize {
    fn new(width: u32, height: u32) -> Self {
        Self { width: width.into(), height: height.into() }
    }

    /// Tokens by the rule of [`ImagePrice::Area`].
    fn area(self) -> u64 {
        let Self { width, height } = self.shrunk(1568);
        (width * height).div_ceil(750).min(AREA_MOST)
    }

    /// Tiles by the rule of [`ImagePrice::Tiles`].
    fn tiles(self) -> u64 {
        let Self { width, height } = self.shrunk(2048);
        let (long, short) = (width.max(height), width.min(height));
        let (long, short) =
            if short > 768 { (scale(long, 768, short), 768) } else { (long, short) };
        long.div_ceil(512) * short.div_ceil(512)
    }

    /// In proportion so small that the longer side is at most `most`.
    fn shrunk(self, most: u64) -> Self {
        let long = self.width.max(self.height);
        if long <= most {
            return self;
        }
        let [width, height] = [self.width, self.height].map(|side| scale(side, most, long));
        Self { width, height }
    }
}

/// `length × to / from`, rounded, at least a pixel.
fn scale(length: u64, to: u64, from: u64) -> u64 {
    ((length * to + from / 2) / from).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(price: ImagePrice, pixels: Option<(u32, u32)>, tokens: u64) {
        assert_eq!(
            price.tokens(&ImagePart {
                content: epitome_kernel::types::ContentId::for_text(""),
                pixels
            }),
            tokens,
            "{price:?} of {pixels:?}"
        );
    }

    #[test]
    fn area_follows_the_published_examples() {
        check(ImagePrice::Area, Some((200, 200)), 54);
        check(ImagePrice::Area, Some((1000, 1000)), 1334);
        check(ImagePrice::Area, Some((1092, 1092)), 1590);
        check(ImagePrice::Area, Some((3136, 400)), 419);
        check(ImagePrice::Area, Some((8000, 8000)), 1600);
        check(ImagePrice::Area, Some((u32::MAX, 1)), 3);
        check(ImagePrice::Area, Some((0, 0)), 0);
        check(ImagePrice::Area, None, 1600);
    }

    #[test]
    fn tiles_follow_the_published_examples() {
        let price = ImagePrice::Tiles { base: 85, tile: 170 };
        check(price, Some((1024, 1024)), 765);
        check(price, Some((2048, 4096)), 1105);
        check(price, Some((512, 512)), 255);
        check(price, Some((4096, 8192)), 1105);
        check(price, None, 765);
    }
}
