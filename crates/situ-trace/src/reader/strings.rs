//! The texts of a trace, each stored once.

use std::collections::HashMap;

/// A text of a trace. The default is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(u32);

/// All texts of a trace. The first is empty.
#[derive(Debug)]
pub(super) struct Texts {
    texts: Vec<Box<str>>,
    ids: HashMap<Box<str>, TextId>,
}

impl Default for Texts {
    fn default() -> Self {
        let mut texts = Self { texts: Vec::new(), ids: HashMap::new() };
        texts.id("");
        texts
    }
}

impl Texts {
    pub(super) const EMPTY: TextId = TextId(0);

    pub(super) fn id(&mut self, text: &str) -> TextId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        // With 2^32 or more texts, the last ones become empty.
        let Ok(number) = u32::try_from(self.texts.len()) else { return Self::EMPTY };
        self.texts.push(text.into());
        self.ids.insert(text.into(), TextId(number));
        TextId(number)
    }

    pub(super) fn get(&self, id: TextId) -> &str {
        self.texts.get(id.0 as usize).map_or("", |text| text)
    }
}
