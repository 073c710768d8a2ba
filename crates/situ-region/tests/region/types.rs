//! The types and values of the vectors, as in `spec/vectors/region.py`.

use situ_region::{
    Bool, Full, HashMap, HashSet, Maybe, OrderedMap, OrderedSet, Region, ShareError, Shared, SortedMap,
    SortedSet, Text, Unique, Vector,
};
use situ_region::{region_plain, region_struct, region_union};

region_plain! { pub struct Skill { id: u32, level: u32 } }
region_plain! { pub struct Item { id: u32, number: u32, uuid: u64, timestamp: u64 } }
region_plain! { pub struct Position { x: f32, y: f32, z: f32 } }
region_struct! {
    pub struct Equip: EquipRef, EquipMut { base: Item, level: u32, attributes: Vector<f32> }
}
region_struct! {
    pub struct Character: CharacterRef, CharacterMut {
        id: u64,
        name: Text,
        level: u32,
        healthpoint: f32,
        manapoint: f32,
        speed: f32,
        pos: Position,
        items: SortedMap<u64, Item>,
        path: Vector<Position>,
        attributes: Vector<f32>,
        equips: Vector<Equip>,
        skills: Vector<Skill>,
    }
}
region_struct! {
    pub struct Node: NodeRef, NodeMut { value: i32, children: Vector<Node>, next: Unique<Node> }
}
region_struct! {
    pub struct Kitchen: KitchenRef, KitchenMut {
        flag: Bool,
        number: i64,
        colour: u8,
        three: [i16; 3],
        names: [Text; 2],
        maybe: Maybe<f64>,
        nickname: Maybe<Text>,
        tree: Unique<Node>,
        words: SortedSet<Text>,
        lists: SortedMap<Text, Vector<u16>>,
        numbers: HashSet<i32>,
        gear: HashMap<Text, Equip>,
        bits: Vector<Bool>,
    }
}

/// The values that the vectors hold.
pub fn character() -> Result<Region<Character>, Full> {
    let mut r = Region::<Character>::new();
    let mut c = r.root_mut();
    *c.id() = 1;
    c.name().set("Hero")?;
    *c.level() = 60;
    *c.healthpoint() = 100.5;
    *c.manapoint() = 50.25;
    *c.speed() = 1.5;
    *c.pos() = Position { x: 1.0, y: 2.0, z: 3.0 };
    for i in 0..5_u32 {
        let (uuid, timestamp) = (u64::from(7000 + i), u64::from(90 + i));
        c.items().insert(u64::from(50 - i * 10), Item { id: i, number: i + 1, uuid, timestamp })?;
    }
    for i in [0.0, 1.0, 2.0, 3.0] {
        c.path().push(Position { x: i, y: i * 2.0, z: i * 3.0 })?;
    }
    c.attributes().set(&[0.0_f32, 0.5, 1.0][..])?;
    for i in 0..2_u32 {
        let mut equips = c.equips();
        let mut equip = equips.push_default()?;
        *equip.base() = Item { id: i, number: 1, uuid: u64::from(i) + 100, timestamp: u64::from(i) + 200 };
        *equip.level() = i + 5;
        equip.attributes().set(&[0.0_f32, 1.0, 2.0][..])?;
    }
    c.skills().push(Skill { id: 1054, level: 3 })?;
    c.skills().push(Skill { id: 7, level: 1 })?;
    Ok(r)
}

pub fn kitchen() -> Result<Region<Kitchen>, Full> {
    let mut r = Region::<Kitchen>::new();
    let mut k = r.root_mut();
    k.flag().set(true)?;
    *k.number() = -5;
    *k.colour() = 2;
    *k.three() = [1, -2, 3];
    k.names().get_mut(0).unwrap().set("short")?;
    k.names().get_mut(1).unwrap().set("a name of more than eleven bytes")?;
    k.maybe().set(Some(2.5))?;
    k.nickname().set(Some("the nickname is long"))?;
    let mut tree = k.tree();
    let mut root = tree.fill()?;
    *root.value() = 1;
    let mut children = root.children();
    let mut first = children.push_default()?;
    *first.value() = 2;
    *first.children().push_default()?.value() = 3;
    let mut second = children.push_default()?;
    *second.value() = 4;
    *second.next().fill()?.value() = 5;
    for word in ["zebra", "apple", "a rather long word", "mango"] {
        assert!(k.words().insert(word)?);
    }
    k.lists().insert("odd", &[1_u16, 3, 5][..])?;
    k.lists().insert("even", &[2_u16, 4][..])?;
    for i in 0..20 {
        assert!(k.numbers().insert(i * 37 - 100)?);
    }
    for name in ["sword", "a shield that is heavy", "bow"] {
        k.gear().entry(name)?.attributes().push(1.5_f32)?;
    }
    k.bits().push(true)?;
    k.bits().push(false)?;
    Ok(r)
}

region_union! {
    pub union Shape: ShapeRef, ShapeMut (i32) {
        1 => radius: f32,
        2 | 3 => label: Text,
        default => points: Vector<f32>,
    }
}
region_union! { pub union Choice: ChoiceRef, ChoiceMut (u64) { 1 => flag: Bool, 2 => big: i64 } }
region_union! { pub union Flagged: FlaggedRef, FlaggedMut (Bool) { false => number: u8, true => text: Text } }
region_struct! { pub struct Texture: TextureRef, TextureMut { name: Text, base: Shared<Texture> } }
region_struct! { pub struct Blade: BladeRef, BladeMut { base: Equip, edge: u16 } }
region_struct! {
    pub struct Market: MarketRef, MarketMut {
        index: OrderedSet<u32>,
        words: OrderedSet<Text>,
        prices: OrderedMap<Text, Item>,
        nothing: OrderedMap<u8, Text>,
        shape: Shape,
        shapes: Vector<Shape>,
        choices: [Choice; 2],
        flagged: Flagged,
        texture: Shared<Texture>,
        textures: Vector<Shared<Texture>>,
        blade: Blade,
        boxed: SortedMap<u8, Shared<Item>>,
    }
}

pub fn item(i: u32) -> Item {
    Item { id: i, number: i, uuid: u64::from(i), timestamp: u64::from(i) }
}

/// The number of numbers, words and prices in the market. It is smaller if the tests are interpreted, but
/// still gives trees of two levels and more.
pub const NUMBERS: u32 = if cfg!(miri) { 70 } else { 505 };
pub const WORDS: u32 = if cfg!(miri) { 16 } else { 40 };
pub const PRICES: u32 = if cfg!(miri) { 30 } else { 100 };

pub fn market() -> Result<Region<Market>, ShareError> {
    let mut r = Region::<Market>::new();
    let mut m = r.root_mut();
    for i in 0..NUMBERS {
        assert!(m.index().insert(i * i % 1009)?);
    }
    for i in 0..WORDS {
        assert!(m.words().insert(&format!("word {} of forty", i * 7 % 40))?);
    }
    for i in 0..PRICES {
        m.prices().insert(&format!("price {i}"), item(i))?;
    }
    m.shape().select(3);
    m.shape().label().unwrap().set("a label of some length")?;
    for (discriminator, points) in [(1, 0), (2, 0), (-4, 3), (0, 0)] {
        let mut shapes = m.shapes();
        let mut shape = shapes.push_default()?;
        shape.select(discriminator);
        for point in 0..points {
            shape.points().unwrap().push([1.0_f32, 2.0, 3.0][point])?;
        }
        if let Some(mut radius) = shape.radius() {
            *radius = 2.5;
        }
        if let Some(mut label) = shape.label() {
            label.set("short")?;
        }
    }
    m.choices().get_mut(0).unwrap().select(2);
    *m.choices().get_mut(0).unwrap().big().unwrap() = -1;
    m.choices().get_mut(1).unwrap().select(7);
    m.flagged().select(true);
    m.flagged().text().unwrap().set("flagged")?;
    let mut textures = m.textures();
    textures.push_default()?.fill()?.name().set("wood")?;
    for _ in 0..3 {
        textures.push_default()?;
    }
    m.texture().fill()?.name().set("oak with long grain")?;
    m.share(
        |m| m.textures().get(0),
        |mut m, wood| {
            m.texture().get_mut().unwrap().base().link(wood)?;
            m.textures().get_mut(3).unwrap().link(wood)
        },
    )?;
    m.share(|m| Some(m.texture()), |mut m, oak| m.textures().get_mut(1).unwrap().link(oak))?;
    *m.blade().base().base() = Item { id: 1, number: 2, uuid: 3, timestamp: 4 };
    *m.blade().base().level() = 5;
    m.blade().base().attributes().push(6.0_f32)?;
    *m.blade().edge() = 7;
    *m.boxed().entry(1)?.fill()? = item(7);
    m.share(|m| m.boxed().get(1), |mut m, seven| m.boxed().entry(3)?.link(seven))?;
    Ok(r)
}
