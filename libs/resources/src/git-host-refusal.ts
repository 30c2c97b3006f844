/** Why a deployment or a revision whose source is `git_host` is refused. */
export const GIT_HOST_REFUSAL = 'source git_host is not supported yet; build an image';
