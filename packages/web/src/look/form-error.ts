/** The error of the last submission of a form. Its fields show what is about them. */
import { createContext } from "react";

export const FormError = createContext<unknown>(undefined);
