# The character for Cap'n Proto.
@0xd7a5c1f0b3e94826;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("region_cp");

struct Skill { id @0 :UInt32; level @1 :UInt32; }
struct Item { id @0 :UInt32; number @1 :UInt32; uuid @2 :UInt64; timestamp @3 :UInt64; }
struct Entry { key @0 :UInt64; id @1 :UInt32; number @2 :UInt32; uuid @3 :UInt64; timestamp @4 :UInt64; }
struct Position { x @0 :Float32; y @1 :Float32; z @2 :Float32; }
struct Equip { base @0 :Item; level @1 :UInt32; attributes @2 :List(Float32); }
struct Character {
  id @0 :UInt64;
  name @1 :Text;
  level @2 :UInt32;
  healthpoint @3 :Float32;
  manapoint @4 :Float32;
  speed @5 :Float32;
  pos :group { x @6 :Float32; y @7 :Float32; z @8 :Float32; }
  items @9 :List(Entry);
  path @10 :List(Position);
  attributes @11 :List(Float32);
  equips @12 :List(Equip);
  skills @13 :List(Skill);
}
