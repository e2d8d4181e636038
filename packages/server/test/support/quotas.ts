/** Teams without limits. */
export const noQuotas = {
  ...{ running: 0, queued: 0, tasks: 0, schedules: 0 },
  ...{ datasets: 0, uploads: 0, logs: 0, texts: 0, exports: 0, environments: 0 },
};
