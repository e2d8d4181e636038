/** The places of the app, in the order of the navigation. */
import type { IconName } from "../look/icon.tsx";

interface Place {
  readonly title: string;
  readonly icon: IconName;
  /** Path below the team. */
  readonly path: string;
  /** Matches the paths, below the team, at which the place is marked as current. */
  readonly here: RegExp;
}

export const places: readonly Place[] = [
  { title: "Home", icon: "home", path: "", here: /^$/ },
  { title: "Jobs", icon: "jobs", path: "/datasets/jobs", here: /^\/(datasets\/jobs|editor)/ },
  { title: "Pipelines", icon: "pipelines", path: "/pipelines", here: /^\/pipelines/ },
  { title: "Schedules", icon: "schedules", path: "/schedules", here: /^\/schedules/ },
  { title: "Datasets", icon: "datasets", path: "/datasets", here: /^\/datasets(?!\/jobs)/ },
  { title: "Storage", icon: "storage", path: "/storage", here: /^\/storage/ },
  { title: "Clusters", icon: "clusters", path: "/clusters", here: /^\/clusters/ },
  { title: "Settings", icon: "settings", path: "/settings/profile", here: /^\/settings/ },
];
