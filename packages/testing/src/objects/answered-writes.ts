/** How nginx accepts writes and answers like a store. */

/**
 * nginx by itself would answer a write before it has received it, which clients treat as a failure. So it buffers the
 * whole body in memory and then makes an internal request for the answer, without the body.
 */
export const receiving = `
    client_max_body_size 0;
    client_body_buffer_size 32m;
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
    proxy_set_header Host $http_host;
    proxy_redirect off;
`;

/** Leaves the answer to the location `/-/received`, which each dialect defines. */
export const received = "proxy_pass http://127.0.0.1:$server_port/-/received$is_args$args;";
