/** Cron expressions in words. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cronInWords } from "../src/schedules/cron-words.ts";

const cases: Readonly<Record<string, string>> = {
  "* * * * *": "Every minute",
  "*/15 * * * *": "Every 15 minutes",
  "0-59/20 * * * *": "Every 20 minutes",
  "0 * * * *": "Every hour",
  "@hourly": "Every hour",
  "15 * * * *": "At minute 15 of every hour",
  "5,35 * * * *": "At minutes 5 and 35 of every hour",
  "*/7 9 * * *": "At minutes 0, 7, 14, 21, 28, 35, 42, 49, and 56 from 09:00 to 09:59 every day",
  "0 */6 * * *": "Every 6 hours",
  "30 */6 * * *": "Every 6 hours at minute 30",
  "30 2 * * *": "At 02:30 every day",
  "0 9,17 * * *": "At 09:00 and 17:00 every day",
  "0,30 9 * * *": "At 09:00 and 09:30 every day",
  "0 9-17 * * 1-5": "Every hour from 09:00 to 17:00 on weekdays",
  "*/15 9-17 * * mon-fri": "Every 15 minutes from 09:00 to 17:59 on weekdays",
  "@daily": "At 00:00 every day",
  "@weekly": "At 00:00 on Sundays",
  "0 4 * * 7": "At 04:00 on Sundays",
  "0 4 * * sun,tue": "At 04:00 on Tuesdays and Sundays",
  "0 4 * * 6,0": "At 04:00 on weekends",
  "0 0 1 * *": "At 00:00 on the 1st of every month",
  "0 0 2,3,11,22 * *": "At 00:00 on the 2nd, 3rd, 11th, and 22nd of every month",
  "0 0 1-7 * *": "At 00:00 on the 1st to 7th of every month",
  "@yearly": "At 00:00 on the 1st of January",
  "0 0 * mar,jun *": "At 00:00 in March and June",
  "0 0 * 3 1": "At 00:00 on Mondays in March",
  "0 0 13 * 5": "At 00:00 on the 13th of every month and on Fridays",
  "0 3 L * *": "At 03:00 on the last day of every month",
};

describe("a cron expression in words", () => {
  for (const [expression, words] of Object.entries(cases))
    it(`${expression} is: ${words}`, () => assert.equal(cronInWords(expression), words));

  for (const expression of ["", "61 * * * *", "* * * *", "0 0 * * 5#2", "1-0 * * * *", "x * * * *", "@often"])
    it(`${JSON.stringify(expression)} has no words`, () => assert.equal(cronInWords(expression), undefined));
});
