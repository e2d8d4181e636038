"""A plug-in of the datachain library that refreshes storage listings in pipeline runs. It runs with the job's own rights.

The library caches the listing of a storage for four hours and does not say so. In a pipeline run, a listing older than
MILLRACE_LISTINGS_SINCE counts as expired, so that the run sees the current files. The value `any` keeps the library's own
expiry. In both cases the job's log says which listing is used, and its time.
"""

import os
import sys
from datetime import datetime, timezone


def say(text):
    print(text, file=sys.stderr, flush=True)


def register():
    since = os.environ.get("MILLRACE_LISTINGS_SINCE")
    if since is None:
        return
    try:
        from datachain.lib.listing import listing_uri_from_name
        from datachain.lib.listing_info import ListingInfo
        from datachain.query import dataset

        began = None if since == "any" else datetime.fromisoformat(since.replace("Z", "+00:00"))
        install(dataset, ListingInfo, listing_uri_from_name, began)
    except (ImportError, AttributeError, ValueError) as error:
        say(
            f"Millrace cannot refresh storage listings with this version of datachain ({error}): the run may use cached "
            "listings up to four hours old. To refresh one, call read_storage(..., update=True)."
        )


def install(dataset, listing_info, uri_of, began):
    """Patches the library. It looks up every name before it patches one, so that an unknown library version stays unchanged."""
    expired = dataset.listing_dataset_expired
    info_expired = listing_info.is_expired.fget
    resolve = dataset.DatasetQuery.resolve_listing
    told = set()

    def is_old(finished_at):
        """Compares finished_at, not created_at: if nothing changed, the library reuses an old listing and updates finished_at."""
        return began is not None and finished_at is not None and finished_at < began

    def tell(name, version):
        if (name, version.version) in told:
            return
        told.add((name, version.version))
        made_at = version.finished_at or version.created_at
        seconds = int((datetime.now(timezone.utc) - made_at).total_seconds())
        when = made_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        if began is not None:
            say(f"Listing of {uri_of(name)}: new, from {when}")
        else:
            say(f"Listing of {uri_of(name)}: from {when}, {seconds // 60} minutes old (reuse_listings is set)")

    def resolve_and_tell(self):
        name = None if self.starting_step else self.list_ds_name
        resolve(self)
        if name and self.starting_step:
            tell(name, self.starting_step.dataset.get_version(self.starting_step.dataset_version))

    dataset.listing_dataset_expired = lambda listing: expired(listing) or is_old(listing.versions[-1].finished_at)
    listing_info.is_expired = property(lambda self: info_expired(self) or is_old(self.finished_at))
    dataset.DatasetQuery.resolve_listing = resolve_and_tell
