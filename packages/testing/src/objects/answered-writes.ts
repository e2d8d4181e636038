/** Configuration with which nginx accepts uploads and answers like an object store. */

/**
 * By default, nginx would answer an upload before it has received the body, which clients treat as a failure. With
 * these lines, it buffers the whole body in memory and then gets the answer by an internal request without the body.
 */
export const receiving = `
    client_max_body_size 0;
    client_body_buffer_size 32m;
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
    proxy_set_header Host $http_host;
    proxy_redirect off;
`;

/** Forwards the request to the location `/-/received`, which each dialect defines and which gives the answer. */
export const received = "proxy_pass http://127.0.0.1:$server_port/-/received$is_args$args;";
