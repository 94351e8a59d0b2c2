<?php

declare(strict_types=1);

namespace Alpine\Stay\Http;

use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\MiddlewareInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Slim\Psr7\Response;

final class CsrfMiddleware implements MiddlewareInterface
{
    public function process(ServerRequestInterface $request, RequestHandlerInterface $handler): ResponseInterface
    {
        $_SESSION['csrf'] ??= bin2hex(random_bytes(16));
        if (in_array($request->getMethod(), ['GET', 'HEAD'], true)) {
            return $handler->handle($request);
        }
        $sent = (string) ($request->getParsedBody()['_csrf'] ?? '');
        if (!hash_equals($_SESSION['csrf'], $sent)) {
            return (new Response())->withStatus(419);
        }
        return $handler->handle($request);
    }
}
