/** Places for listings of storages: nobody and no few teams can take them all. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "@millrace/contract";
import { ListingPlaces } from "../../src/http/datasets/listing-places.ts";

describe("places for listings", () => {
  /** Takes places until none is left. Returns the functions that release them. */
  function takeAll(places: ListingPlaces, userIds: readonly number[], teamIds: readonly number[]) {
    const taken: (() => void)[] = [];
    for (const userId of [...userIds, ...userIds, ...userIds, ...userIds])
      for (const teamId of teamIds) {
        try {
          taken.push(places.take({ userId, teamId }));
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === "too_many_requests");
        }
      }
    return taken;
  }

  it("are three for a user, and four for a team", () => {
    assert.equal(takeAll(new ListingPlaces(), [1], [1, 2, 3, 4]).length, 3);
    assert.equal(takeAll(new ListingPlaces(), [1, 2, 3, 4], [1]).length, 4);
  });

  it("remain for other teams, whatever four users of three teams list", () => {
    const places = new ListingPlaces();
    takeAll(places, [1, 2, 3, 4], [1, 2, 3]);
    const others = [5, 6, 7, 8].map((id) => places.take({ userId: id, teamId: id }));
    assert.equal(others.length, 4);
    assert.throws(() => places.take({ userId: 9, teamId: 9 }), /Too many storages are being listed at once/);
  });

  it("are free again when a listing ends", () => {
    const places = new ListingPlaces();
    for (const release of takeAll(places, [1, 2, 3, 4], [1, 2, 3])) release();
    assert.equal(takeAll(places, [1, 2, 3, 4], [1, 2, 3]).length, 8);
  });
});
