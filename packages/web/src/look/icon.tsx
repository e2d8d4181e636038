/** The icons: paths on a grid of 16, drawn in the colour of the text. */
const paths = {
  home: "M2 7.5 8 2.5l6 5M3.5 6.5v7h9v-7M6.5 13.5v-4h3v4",
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  pipelines: "M2 3.5h4v3H2zM10 3.5h4v3h-4zM10 9.5h4v3h-4zM6 5h4M8 5v6h2",
  schedules: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 4.5V8l2.5 1.5",
  datasets:
    "M2.5 4c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2ZM2.5 4v8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V4M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2",
  storage: "M2 4.5h4.5L8 6h6v7H2z",
  clusters: "M2.5 2.5h11v4h-11zM2.5 9.5h11v4h-11zM5 4.5h.01M5 11.5h.01",
  settings: "M2 4.5h6M11 4.5h3M2 11.5h3M8 11.5h6M9.5 3v3M6.5 10v3",
  administration: "M8 1.8 13 4v4c0 3-2.1 5.2-5 6.2C5.1 13.2 3 11 3 8V4z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.5 10.5l3.5 3.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  cross: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4 6 8l4 4",
  play: "M4.5 3v10l8-5z",
  pause: "M5 3v10M11 3v10",
  stop: "M4 4h8v8H4z",
  again: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
  download: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  link: "M6.5 9.5l3-3M7 4.5l1-1a3 3 0 0 1 4.5 4.5l-1 1M9 11.5l-1 1A3 3 0 0 1 3.5 8l1-1",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z",
  person: "M8 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5ZM3 13.5c.5-2.8 2.4-4 5-4s4.5 1.2 5 4",
  bell: "M4 11V7a4 4 0 0 1 8 0v4l1 1H3zM7 13.5h2",
  edit: "M3 13l.7-3L11 2.7 13.3 5 6 12.3z",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.01",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8.3 7.7 2.5 13.5M4.5 11.5l1.5 1.5",
  bin: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9",
} as const;

export type IconName = keyof typeof paths;

/** Draws an icon. It is decoration: the text beside it, or the label of its button, says what it means. */
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg className="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
    <path
      d={paths[name]}
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  </svg>
);
