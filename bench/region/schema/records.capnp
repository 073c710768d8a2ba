# The data sets for Cap'n Proto.
@0xe1c7b4d2a5936f08;

struct Log {
  x0 @0 :UInt8; x1 @1 :UInt8; x2 @2 :UInt8; x3 @3 :UInt8;
  identity @4 :Text; userid @5 :Text; date @6 :Text; request @7 :Text;
  code @8 :UInt16; size @9 :UInt64;
}
struct Logs { logs @0 :List(Log); }

struct Vector3 { x @0 :Float32; y @1 :Float32; z @2 :Float32; }
struct Triangle { v0 @0 :Vector3; v1 @1 :Vector3; v2 @2 :Vector3; normal @3 :Vector3; }
struct Mesh { triangles @0 :List(Triangle); }

struct Item { count @0 :Int8; slot @1 :UInt8; id @2 :Text; }
struct Point { x @0 :Float64; y @1 :Float64; z @2 :Float64; }
struct Entity {
  id @0 :Text;
  posX @1 :Float64; posY @2 :Float64; posZ @3 :Float64;
  motionX @4 :Float64; motionY @5 :Float64; motionZ @6 :Float64;
  rotationX @7 :Float32; rotationY @8 :Float32;
  fallDistance @9 :Float32; fire @10 :UInt16; air @11 :UInt16;
  onGround @12 :Bool; noGravity @13 :Bool; invulnerable @14 :Bool;
  portalCooldown @15 :Int32;
  uuid0 @16 :UInt32; uuid1 @17 :UInt32; uuid2 @18 :UInt32; uuid3 @19 :UInt32;
  customName @20 :Text;
  customNameVisible @21 :Bool; silent @22 :Bool; glowing @23 :Bool;
}
struct Player {
  gameType @0 :UInt8; previousGameType @1 :UInt8; score @2 :Int64; dimension @3 :Text;
  selectedItemSlot @4 :UInt32; selectedItem @5 :Item; spawnDimension @6 :Text;
  spawnX @7 :Int64; spawnY @8 :Int64; spawnZ @9 :Int64;
  spawnForced @10 :Bool; hasSpawnForced @11 :Bool;
  sleepTimer @12 :UInt16; foodExhaustionLevel @13 :Float32; foodSaturationLevel @14 :Float32;
  foodTickTimer @15 :UInt32; xpLevel @16 :UInt32; xpP @17 :Float32; xpTotal @18 :Int32; xpSeed @19 :Int32;
  inventory @20 :List(Item); enderItems @21 :List(Item);
  walkSpeed @22 :Float32; flySpeed @23 :Float32;
  mayFly @24 :Bool; flying @25 :Bool; invulnerable @26 :Bool; mayBuild @27 :Bool; instabuild @28 :Bool;
  enteredNetherPosition @29 :Point;
  vehicleUuid @30 :List(UInt32); vehicle @31 :Entity;
  shoulderLeft @32 :Entity; shoulderRight @33 :Entity;
  seenCredits @34 :Bool;
  recipes @35 :List(Text); toBeDisplayed @36 :List(Text); recipeFlags @37 :List(Bool);
}
struct Players { players @0 :List(Player); }

struct Contact {
  damage @0 :UInt8; entityId @1 :UInt32;
  entityType @2 :UInt8; hasEntityType @3 :Bool;
  guidanceAngle @4 :UInt16; guidanceSubmerge @5 :Bool; guidanceVelocity @6 :Int16;
  playerId @7 :UInt16; hasPlayerId @8 :Bool;
  reloads @9 :List(Bool);
  altitude @10 :Int8; angle @11 :UInt16; x @12 :Float32; y @13 :Float32; velocity @14 :Int16;
  turretAngles @15 :List(UInt16);
}
struct Terrain { chunkX @0 :Int8; chunkY @1 :Int8; data @2 :Data; }
struct Update {
  contacts @0 :List(Contact); score @1 :UInt32; worldRadius @2 :Float32; terrainUpdates @3 :List(Terrain);
}
struct Updates { updates @0 :List(Update); }
