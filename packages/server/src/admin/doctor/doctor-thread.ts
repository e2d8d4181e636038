/** Main program of the thread that diagnoses the machine: gets the settings as its data, and posts the findings. */
import { parentPort, workerData } from "node:worker_threads";
import { type DoctorSettings, diagnose } from "./doctor.ts";

parentPort?.postMessage(await diagnose(workerData as DoctorSettings));
