/** Members of `client_kwargs` and `kwargs`: every argument of botocore's `create_client` and session. */
import { idle, ofPython, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";

/**
 * Arguments of `create_client`. The arguments endpoint_url, use_ssl and the access keys are not in this table: they are
 * sources of parameters in parameters.ts.
 */
export const clientKwargs = {
  "client_kwargs.service_name": refused("the service is always s3", "Service to use."),
  "client_kwargs.region_name": {
    type: "string",
    default: null,
    effect: "native",
    sources: [
      "client_kwargs.region_name",
      "region_name",
      "config_kwargs.region_name",
      "$AWS_REGION",
      "$AWS_DEFAULT_REGION",
    ],
    help: "Signing region.",
  },
  "client_kwargs.api_version": {
    ...idle("string", "S3 has only this version", "Version of the API."),
    choices: ["2006-03-01"],
  },
  "client_kwargs.verify": {
    type: ["boolean", "string"],
    default: true,
    effect: "native",
    sources: ["client_kwargs.verify", "$AWS_CA_BUNDLE"],
    help: "False trusts any certificate; a string is a file with certificates to trust.",
  },
  "client_kwargs.config": ofPython("Configuration of the client: give its options in config_kwargs."),
  "client_kwargs.aws_account_id": idle("string", "no S3 address contains an account id", "Account id."),
} as const satisfies ParameterTable;

export const sessionKwargs = {
  "kwargs.session_vars": ofPython("Names of the session's own settings."),
  "kwargs.event_hooks": ofPython("Functions called for every request."),
  "kwargs.include_builtin_handlers": refused(
    "this library has no built-in handlers",
    "Built-in handlers of the session.",
  ),
  "kwargs.profile": {
    type: "string",
    default: null,
    effect: "native",
    sources: ["kwargs.profile", "profile", "$AWS_PROFILE"],
    help: "Profile of the shared configuration files.",
  },
} as const satisfies ParameterTable;
